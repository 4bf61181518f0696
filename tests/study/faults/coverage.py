"""Records that never come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.study.fault import Fault
from tests.study.loaders import Log

if TYPE_CHECKING:
    from random import Random

    import numpy.typing as npt

__all__ = ["CoverageHole"]


class CoverageHole(Fault):
    """Records are replaced, skipped in all epochs, or a whole epoch is empty."""

    name = "coverage hole"
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
