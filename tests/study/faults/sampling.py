"""Faults of samplers: weights without effect, other weights or replacement than declared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.study.fault import Fault

if TYPE_CHECKING:
    from random import Random

    import numpy.typing as npt

__all__ = ["IgnoredWeights", "OtherSampling"]


class IgnoredWeights(Fault):
    """All records come alike, though weights are declared."""

    name = "ignored weights"
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

    name = "other sampling"
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
