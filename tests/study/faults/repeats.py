"""What comes again: orders and draws of an epoch, draws of a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.study.fault import Fault
from tests.study.loaders import Log, Rows, mix

if TYPE_CHECKING:
    from random import Random

    import numpy.typing as npt

__all__ = ["ClonedDraws", "FrozenDraws", "RepeatedDraws", "RepeatedOrder"]


class RepeatedOrder(Fault):
    """The shuffle does not know the epoch."""

    name = "repeated order"
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

    name = "repeated draws"
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


class FrozenDraws(Fault):
    """A cache behind the random transforms: only the first epoch draws."""

    name = "frozen draws"
    rule = "epoch-draw-repeat"
    needed = ("shuffle", "epoch", "purpose", "draws", "content")

    @classmethod
    def fields(cls, rng: Random, variant: int) -> dict[str, Any]:
        return {
            "size": rng.randint(20, 90),
            "epochs": rng.randint(2, 4),
            "order": "shuffled",
            "purpose": "train",
            "key": "record",
            "choices": 0,
            "augmented": True,
            "members": False,
            "split": False,
            "drop": False,
            "stop": 1.0,
        }

    def draws_of(self, rows: Rows) -> npt.NDArray[np.uint64]:
        return super().draws_of(rows | {"epoch": np.zeros_like(rows["epoch"])})

    def finish(self, log: Log) -> Log:
        drawn = log.columns["draws"].astype(object)
        drawn[log.columns["epoch"] > 0] = None
        return Log(log.columns | {"draws": drawn}, log.declared)


class ClonedDraws(Fault):
    """Workers, or ranks, hold copies of one generator."""

    name = "cloned draws"
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
