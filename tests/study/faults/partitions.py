"""Faults of how a source is shared out: implicit parts, copies of the source, overlaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.study.fault import Fault
from tests.study.loaders import Loader, Rows

if TYPE_CHECKING:
    from random import Random

    import numpy.typing as npt

__all__ = ["ImplicitPartitioning", "OverlappingRanks", "ReplicatedParts", "WideStride"]


class ImplicitPartitioning(Fault):
    """Contiguous parts of the IDs, merged; the remainder is dropped."""

    name = "implicit partitions"
    rule = "implicit-partitioning"
    needed = ("source_size", "workers", "shuffle", "drop_remainder")
    variants = 2

    @classmethod
    def fields(cls, rng: Random, variant: int) -> dict[str, Any]:
        workers = rng.randint(2, 8)
        size = workers * rng.randint(4, 12) + rng.randint(1, workers - 1)
        return {
            "size": size,
            "workers": workers,
            "ranks": 1,
            "order": ["sequential", "shuffled"][variant],
            "epochs": [rng.randint(1, 3), 12][variant],
            "index": True,
            "drop": False,
            "inside": False,
            "kept": 0,
            "stop": 1.0,
            "split": False,
        }

    def order_of(self, epoch: int) -> npt.NDArray[np.int64]:
        rng = self.rng(epoch, 77)
        length = self.size // self.workers
        parts = np.arange(length * self.workers).reshape(self.workers, length)
        if self.order == "shuffled":
            parts = rng.permuted(parts, axis=1)
        turns = np.repeat(np.arange(self.workers), length)
        while (np.diff(turns) >= 0).all():  # parts one after the other are the source's own order
            turns = rng.permutation(turns)
        return parts.ravel()[np.argsort(np.argsort(turns, kind="stable"), kind="stable")]


class ReplicatedParts(Fault):
    """Each worker, or each rank, reads the whole source."""

    name = "replicated parts"
    rule = "partition-broken"
    needed = ("worker", "epoch", "num_epochs", "replacement")
    variants = 2

    @classmethod
    def fields(cls, rng: Random, variant: int) -> dict[str, Any]:
        return {
            "ranks": rng.randint(2, 4) if variant else 1,
            "workers": 0 if variant else rng.randint(2, 4),
            "inside": not variant,
            "order": rng.choice(["sequential", "shuffled"]),
            "size": rng.randint(10, 60),
            "drop": False,
            "stop": 1.0,
            "padding": "uneven",
            "split": False,
        }

    def parts(self, length: int, parts: int) -> list[npt.NDArray[np.int64]]:
        return [np.arange(length)] * parts

    def batches(self, share: Rows) -> Rows:
        if self.variant:
            return super().batches(share)
        one = {**self.__dict__, "inside": False, "workers": 0}
        whole = [Loader(**one).batches(share) for _ in range(self.workers)]
        rows = {name: np.concatenate([part[name] for part in whole]) for name in whole[0]}
        rows["worker"] = np.repeat(np.arange(self.workers), len(share["index"]))
        order = np.lexsort((rows["worker"], rows["batch"]))
        rows["batch"] = rows["batch"] * self.workers + rows["worker"]
        return {name: of[order] for name, of in rows.items()}


class OverlappingRanks(Fault):
    """Each rank shuffles by a seed of its own, or walks with too wide a stride."""

    name = "overlapping ranks"
    rule = "partition-broken"
    needed = (
        "epoch",
        "num_epochs",
        "replacement",
        "source_size",
        "world_size",
        "batch_size",
        "worker",
        "index",
    )
    variants = 2

    @classmethod
    def fields(cls, rng: Random, variant: int) -> dict[str, Any]:
        return {
            "ranks": rng.randint(2, 4),
            "size": rng.randint(40, 90),
            "order": ["shuffled", "sequential"][variant],
            "ids": "dense" if variant else rng.choice(["dense", "sparse", "text"]),
            "contiguous": False,
            "inside": False,
            "drop": False,
            "batch": 1 if variant else rng.randint(1, 5),
            "kept": 0,
            "stop": 1.0,
            "padding": "uneven",
            "split": False,
        }

    def deal(self, order: npt.NDArray[np.int64], epoch: int) -> list[Rows]:
        step = self.ranks * (2 if self.variant else 1)
        shares = []
        for rank in range(self.ranks):
            own = order if self.variant else self.rng(epoch, rank).permutation(self.size)
            part = own[rank::step]
            shares.append({"index": part, "padding": np.zeros(len(part), np.bool_)})
        return shares


class WideStride(OverlappingRanks):
    """Ranks walk with too wide a stride, which the index alone shows."""

    name = "wide stride"
    variants = 1

    @classmethod
    def fields(cls, rng: Random, variant: int) -> dict[str, Any]:
        ids = {"ids": rng.choice(["sparse", "text"]), "index": True}
        return super().fields(rng, 1) | ids

    def deal(self, order: npt.NDArray[np.int64], epoch: int) -> list[Rows]:
        parts = [order[rank :: 2 * self.ranks] for rank in range(self.ranks)]
        return [{"index": part, "padding": np.zeros(len(part), np.bool_)} for part in parts]
