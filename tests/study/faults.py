"""Faults of order and of what samples hold: each overrides one step of a sound loader.

`FIXED` gives fields that the fault needs, `NEEDED` what must not be hidden for its rule to
tell. `tests.study.planting` puts them into loaders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tests.study.loaders import Loader, Log, Rows, mix

if TYPE_CHECKING:
    from random import Random

    import numpy.typing as npt

__all__ = [
    "ClonedDraws",
    "CoverageHole",
    "Fault",
    "IgnoredWeights",
    "ImplicitPartitioning",
    "Misaligned",
    "OtherSampling",
    "OverlappingRanks",
    "RepeatedDraws",
    "RepeatedOrder",
    "ReplicatedParts",
    "SplitLeak",
    "WeakMixing",
]


class Fault(Loader):
    """A loader with one fault.

    Attributes:
        rule: the rule that must name it.
        needed: columns and declared fields without which the rule cannot tell.
        variants: forms that the fault has.
    """

    needed: ClassVar[tuple[str, ...]] = ()
    variants: ClassVar[int] = 1

    @classmethod
    def fields(cls, rng: Random, variant: int) -> dict[str, Any]:
        """Choose the fields of the loader that the fault needs."""
        return {}


class ImplicitPartitioning(Fault):
    """Contiguous parts of the IDs, merged; the remainder is dropped."""

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
        turns = rng.permutation(np.repeat(np.arange(self.workers), length))
        return parts.ravel()[np.argsort(np.argsort(turns, kind="stable"), kind="stable")]


class IgnoredWeights(Fault):
    """All records come alike, though weights are declared."""

    rule = "ignored-weights"
    needed = ("source_size", "replacement", "num_epochs")
    variants = 3

    @classmethod
    def fields(cls, rng: Random, variant: int) -> dict[str, Any]:
        size = rng.randint(30, 60)
        lowest = 0.0 if variant == 1 else 0.5
        return {
            "size": size,
            "order": "weighted",
            "samples": 1 if variant == 2 else 100,
            "epochs": 4 if variant == 2 else rng.randint(1, 2),
            "weights": (lowest, 8.0, *rng.choices([lowest, 1.0, 8.0], k=size - 2)),
            "drop": False,
            "stop": 1.0,
            "kept": 0,
            "index": True,
            "padding": "uneven",
            "purpose": "train",
            "split": False,
            "ranks": rng.choice([1, 1, 2]),
        }

    def order_of(self, epoch: int) -> npt.NDArray[np.int64]:
        if self.variant == 2:
            return self.rng(epoch).permutation(self.size)
        return self.rng(epoch).integers(0, self.size, self.samples * self.size)


class OtherSampling(Fault):
    """Weights of classes, upside down or reversed; another replacement than declared."""

    rule = "sampling-distribution"
    needed = ("source_size", "replacement", "epoch", "num_epochs", "worker", "workers")
    variants = 5

    @classmethod
    def fields(cls, rng: Random, variant: int) -> dict[str, Any]:
        size = rng.randint(30, 60)
        weights = (0.5, 8.0, *rng.choices([0.5, 1.0, 8.0], k=size - 2))
        return {
            "size": size,
            "order": ["weighted", "weighted", "weighted", "shuffled", "uniform"][variant],
            "weights": weights if variant < 3 else (),
            "samples": [60, 60, 60, 1, 1][variant],
            "epochs": rng.randint(1, 2) if variant < 4 else 3,
            "purpose": "train",
            "drop": False,
            "stop": 1.0,
            "kept": 0,
            "index": True,
            "padding": "uneven",
            "ids": "dense" if variant == 0 else rng.choice(["dense", "text"]),
            "split": False,
            "ranks": rng.choice([1, 1, 2]),
            "inside": False,
        }

    def order_of(self, epoch: int) -> npt.NDArray[np.int64]:
        rng = self.rng(epoch)
        if self.variant == 4:
            return rng.permutation(self.size)
        if self.variant == 3:
            return rng.integers(0, self.size, self.size)
        weights = np.array(self.weights)
        used = [np.array([1.0, 9.0] + [0.0] * (self.size - 2)), 1 / weights, weights**2][
            self.variant
        ]
        return rng.choice(self.size, self.samples * self.size, p=used / used.sum())

    def declared(self) -> dict[str, Any]:
        declared = super().declared()
        if self.variant == 0:
            declared["weights"] = [1.0, 9.0]
        return declared


class RepeatedOrder(Fault):
    """The shuffle does not know the epoch."""

    rule = "epoch-order-repeat"
    needed = ("shuffle", "epoch", "purpose")

    @classmethod
    def fields(cls, rng: Random, variant: int) -> dict[str, Any]:
        return {
            "size": rng.randint(20, 90),
            "epochs": rng.randint(2, 4),
            "order": "shuffled",
            "purpose": "train",
            "stop": 1.0,
            "split": False,
        }

    def order_of(self, epoch: int) -> npt.NDArray[np.int64]:
        return super().order_of(0)


class RepeatedDraws(Fault):
    """Generators are seeded without the epoch."""

    rule = "epoch-draw-repeat"
    needed = ("shuffle", "epoch", "purpose", "draws", "worker")
    variants = 3

    @classmethod
    def fields(cls, rng: Random, variant: int) -> dict[str, Any]:
        return {
            "size": rng.randint(40, 90),
            "epochs": rng.randint(2, 4),
            "order": "shuffled",
            "purpose": "train",
            "key": ["record", "position", "worker"][variant],
            "choices": 0,
            "inside": False,
            "split": False,
            "stop": 1.0,
        }

    def draws_of(self, rows: Rows) -> npt.NDArray[np.uint64]:
        return super().draws_of(rows | {"epoch": np.zeros_like(rows["epoch"])})


class ClonedDraws(Fault):
    """Workers, or ranks, hold copies of one generator."""

    rule = "worker-rng-clone"
    needed = ("draws", "worker", "epoch")
    variants = 2

    @classmethod
    def fields(cls, rng: Random, variant: int) -> dict[str, Any]:
        ranks, workers = (rng.randint(2, 4), 0) if variant else (1, rng.randint(2, 4))
        return {
            "size": 20 * ranks * max(workers, 1) + rng.randint(0, 30),
            "ranks": ranks,
            "workers": workers,
            "batch": rng.randint(2, 5),
            "order": "shuffled",
            "key": "worker",
            "choices": 0,
            "split": False,
            "kept": 0,
            "inside": False,
            "stop": 1.0,
        }

    def draws_of(self, rows: Rows) -> npt.NDArray[np.uint64]:
        return mix(self.seed, rows["epoch"], rows["turn"])


class ReplicatedParts(Fault):
    """Each worker, or each rank, reads the whole source."""

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

    rule = "partition-broken"
    needed = ("epoch", "num_epochs", "replacement", "source_size", "world_size", "batch_size")
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


class CoverageHole(Fault):
    """Records are replaced, skipped in all epochs, or a whole epoch is empty."""

    rule = "coverage-hole"
    needed = ("source_size", "drop_remainder", "replacement", "epoch", "num_epochs", "batch_size")
    variants = 3

    @classmethod
    def fields(cls, rng: Random, variant: int) -> dict[str, Any]:
        return {
            "size": rng.randint(20, 90),
            "epochs": rng.randint(3, 5),
            "order": rng.choice(["sequential", "shuffled"]),
            "drop": False,
            "padding": "uneven",
            "kept": 0,
            "stop": 1.0,
            "index": True,
            "inside": False,
            "split": False,
        }

    def _gone(self) -> npt.NDArray[np.int64]:
        rng = np.random.default_rng([self.seed, 5])
        return rng.choice(self.size - 3, int(rng.integers(1, 4)), replace=False)

    def order_of(self, epoch: int) -> npt.NDArray[np.int64]:
        order = super().order_of(epoch)
        if self.variant == 1:
            return order[~np.isin(order, self._gone())]
        if self.variant == 2 and epoch == 1:
            return order[:0]
        return order

    def finish(self, log: Log) -> Log:
        if self.variant:
            return log
        names, gone = self.names(), self._gone()
        asked = log.columns["record"]
        other = dict(zip(names[gone].tolist(), names[gone + 1].tolist(), strict=True))
        record = np.array([other.get(name, name) for name in asked.tolist()], asked.dtype)
        return Log(log.columns | {"asked": asked, "record": record}, log.declared)


class SplitLeak(Fault):
    """The split is taken by position from a stream that is shuffled anew."""

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


class WeakMixing(Fault):
    """A small shuffle buffer, static shards, or frozen batches."""

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


class Misaligned(Fault):
    """Image and mask have draws of their own, or labels are late."""

    rule = "alignment"
    needed = ("draws",)
    variants = 2

    @classmethod
    def fields(cls, rng: Random, variant: int) -> dict[str, Any]:
        key = rng.choice(["record", "position"])
        return {"members": True, "key": key, "choices": 0, "size": rng.randint(12, 90)}

    def finish(self, log: Log) -> Log:
        columns = dict(log.columns)
        if self.variant:
            columns["label_used"] = np.roll(columns["label_true"], 1)
        else:
            columns["draws_mask"] = mix(columns["draws"], 13)
        return Log(columns, log.declared)
