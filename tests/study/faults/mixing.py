"""Shuffles that mix badly, and splits taken from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.study.fault import Fault
from tests.study.loaders import Log, Rows

if TYPE_CHECKING:
    from random import Random

    import numpy.typing as npt

__all__ = ["SplitLeak", "WeakMixing"]


class WeakMixing(Fault):
    """A small shuffle buffer, static shards, or frozen batches."""

    name = "weak mixing"
    rule = "weak-mixing"
    needed = ("shuffle", "purpose", "epoch", "batch", "batch_size")
    variants = 3

    @classmethod
    def fields(cls, rng: Random, variant: int) -> dict[str, Any]:
        return {
            "size": [rng.randint(100, 200), rng.randint(60, 120), 96][variant],
            "order": "shuffled",
            "purpose": "train",
            "epochs": rng.randint(1 if variant == 0 else 2, 4),
            "ranks": [1, rng.randint(2, 4), 1][variant],
            "batch": [rng.randint(1, 9), rng.randint(1, 4), 4][variant],
            "ids": rng.choice(["dense", "sparse", "text"]),
            "padding": "uneven",
            "kept": 0,
            "inside": False,
            "drop": False,
            "contiguous": False,
            "stop": 1.0,
            "split": False,
        }

    def order_of(self, epoch: int) -> npt.NDArray[np.int64]:
        rng = self.rng(epoch)
        if self.variant == 2:
            blocks = self.rng(99).permutation(self.size).reshape(-1, self.batch)
            return rng.permutation(blocks).ravel()
        if self.variant == 1:
            return super().order_of(epoch)
        waiting, order = [*range(8)], []
        for record in range(8, self.size):
            order.append(waiting.pop(int(rng.integers(len(waiting)))))
            waiting.append(record)
        return np.array([*order, *rng.permutation(waiting).tolist()], np.int64)

    def deal(self, order: npt.NDArray[np.int64], epoch: int) -> list[Rows]:
        if self.variant != 1:
            return super().deal(order, epoch)
        parts = [order[order % self.ranks == rank] for rank in range(self.ranks)]
        return [{"index": part, "padding": np.zeros(len(part), np.bool_)} for part in parts]


class SplitLeak(Fault):
    """The split is taken by position from a stream that is shuffled anew."""

    name = "split leak"
    rule = "split-leak"
    needed = ()

    @classmethod
    def fields(cls, rng: Random, variant: int) -> dict[str, Any]:
        return {
            "split": True,
            "order": "shuffled",
            "epochs": rng.randint(2, 4),
            "size": rng.randint(20, 90),
            "ranks": 1,
            "drop": False,
            "stop": 1.0,
            "kept": 0,
        }

    def finish(self, log: Log) -> Log:
        place = np.arange(len(log.columns["record"]))
        starts = np.searchsorted(log.columns["epoch"], log.columns["epoch"])
        split = np.where((place - starts) * 5 < 4 * self.size, "train", "val")
        return Log(log.columns | {"split": split}, log.declared)
