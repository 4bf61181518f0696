"""Faults of what samples hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.study.fault import Fault
from tests.study.loaders import Log, Rows, mix

if TYPE_CHECKING:
    from random import Random

    import numpy.typing as npt

__all__ = ["ChangedContent", "DriftingContent", "Misaligned"]


class Misaligned(Fault):
    """Image and mask have draws of their own, or labels are late."""

    name = "misaligned members"
    rule = "alignment"
    needed = ("draws",)
    variants = 2

    @classmethod
    def fields(cls, rng: Random, variant: int) -> dict[str, Any]:
        key = rng.choice(["record", "position"])
        return {"members": True, "key": key, "choices": 0, "size": rng.randint(12, 90)}

    @classmethod
    def beside(cls, rng: Random, variant: int) -> bool:
        # Labels are not compared: two runs that differ in nothing else are identical.
        return not variant and super().beside(rng, variant)

    def finish(self, log: Log) -> Log:
        columns = dict(log.columns)
        if self.variant:
            columns["label_used"] = np.roll(columns["label_true"], 1)
        else:
            columns["draws_mask"] = mix(columns["draws"], 13)
        return Log(columns, log.declared)


class DriftingContent(Fault):
    """A transform changes a cached array in place: content grows with the epoch."""

    name = "drifting content"
    rule = "content-drift"
    needed = ("raw", "epoch")

    @classmethod
    def fields(cls, rng: Random, variant: int) -> dict[str, Any]:
        return {"epochs": rng.randint(2, 4), "size": rng.randint(40, 90), "stop": 1.0}

    def content_of(self, rows: Rows) -> npt.NDArray[np.uint64]:
        return mix(super().content_of(rows), rows["epoch"])


class ChangedContent(Fault):
    """Some records were changed upstream; told by a baseline alone."""

    name = "changed content"
    rule = "content-drift"
    needed = ("raw",)

    @classmethod
    def fields(cls, rng: Random, variant: int) -> dict[str, Any]:
        return {"size": rng.randint(20, 90), "stop": 1.0, "drop": False}

    @classmethod
    def beside(cls, rng: Random, variant: int) -> bool:
        return True

    def content_of(self, rows: Rows) -> npt.NDArray[np.uint64]:
        content = super().content_of(rows)
        changed = mix(self.seed, 21, rows["index"]) % np.uint64(5) == 0
        return np.where(changed | (rows["index"] == rows["index"][0]), mix(content, 1), content)
