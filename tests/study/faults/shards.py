"""Faults of sources that lie in shards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.study.fault import Fault
from tests.study.sharded import SHARDS, deal_shards, with_shards

if TYPE_CHECKING:
    from random import Random

    import numpy.typing as npt

    from tests.study.loaders import Log, Rows

__all__ = ["LostShard", "OverlappingShards"]


class _OfShards(Fault):
    @classmethod
    def fields(cls, rng: Random, variant: int) -> dict[str, Any]:
        return {
            "size": rng.randint(60, 200),
            "epochs": rng.randint(2, 4),
            "order": "shuffled",
            "purpose": "train",
            "padding": "uneven",
            "kept": 0,
            "key": rng.choice(["position", "worker", ""]),
            "index": True,
            "contiguous": False,
            "inside": False,
            "drop": False,
            "stop": 1.0,
            "split": False,
        }

    def finish(self, log: Log) -> Log:
        return with_shards(log, self.names(), SHARDS)


class LostShard(_OfShards):
    """One shard is in no rank's list."""

    name = "lost shard"
    rule = "coverage-hole"
    needed = ("source_size", "drop_remainder", "replacement", "num_epochs", "batch_size")

    def deal(self, order: npt.NDArray[np.int64], epoch: int) -> list[Rows]:
        turn = self.rng(epoch).permutation(SHARDS)
        return deal_shards(self, epoch, [turn[turn != 5]] * self.ranks)


class OverlappingShards(_OfShards):
    """Each rank shuffles the list of shards by a seed of its own before it takes its part."""

    name = "overlapping shards"
    rule = "partition-broken"
    needed = ("epoch", "num_epochs", "replacement", "source_size", "world_size", "worker")

    @classmethod
    def fields(cls, rng: Random, variant: int) -> dict[str, Any]:
        return super().fields(rng, variant) | {"ranks": rng.randint(2, 4)}

    def deal(self, order: npt.NDArray[np.int64], epoch: int) -> list[Rows]:
        orders = [self.rng(epoch, 7, rank).permutation(SHARDS) for rank in range(self.ranks)]
        return deal_shards(self, epoch, orders)
