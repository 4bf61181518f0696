"""Faults at the end of epochs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.study.fault import Fault
from tests.study.loaders import Rows

if TYPE_CHECKING:
    from random import Random

__all__ = ["DroppedTail", "PaddedTail", "WorkerTails"]


class DroppedTail(Fault):
    """An evaluation drops its last batch, partial or (by a prefetcher) whole."""

    name = "dropped tail"
    rule = "tail-handling"
    needed = ("purpose", "source_size", "batch_size", "epoch", "num_epochs", "replacement")
    variants = 2

    @classmethod
    def fields(cls, rng: Random, variant: int) -> dict[str, Any]:
        batch = rng.randint(3, 9)
        extra = 0 if variant else rng.randint(1, batch - 1)
        return {
            "size": batch * rng.randint(3, 12) + extra,
            "batch": batch,
            "drop": not variant,
            "purpose": "eval",
            "order": rng.choice(["sequential", "shuffled"]),
            "ranks": 1,
            "workers": rng.choice([0, 2]),
            "inside": False,
            "kept": 0,
            "stop": 1.0,
            "split": False,
        }

    def batches(self, share: Rows) -> Rows:
        rows = super().batches(share)
        if not self.variant:
            return rows
        return {name: of[rows["batch"] < rows["batch"].max()] for name, of in rows.items()}


class PaddedTail(Fault):
    """An evaluation evens out its ranks, and nothing marks the rows that were added."""

    name = "padded tail"
    rule = "tail-handling"
    needed = ("purpose", "source_size", "batch_size", "epoch", "num_epochs", "replacement")

    @classmethod
    def fields(cls, rng: Random, variant: int) -> dict[str, Any]:
        ranks = rng.randint(2, 4)
        return {
            "size": ranks * rng.randint(5, 20) + rng.randint(1, ranks - 1),
            "ranks": ranks,
            "purpose": "eval",
            "order": rng.choice(["sequential", "shuffled"]),
            "padding": "unmarked",
            "contiguous": False,
            "inside": False,
            "kept": 0,
            "drop": False,
            "stop": 1.0,
            "split": False,
        }


class WorkerTails(Fault):
    """Batches are formed inside workers, and each drops its own remainder."""

    name = "tails of workers"
    rule = "tail-handling"
    needed = (
        "source_size",
        "batch_size",
        "workers",
        "epoch",
        "num_epochs",
        "replacement",
        "purpose",
        "shuffle",
    )

    @classmethod
    def fields(cls, rng: Random, variant: int) -> dict[str, Any]:
        while True:
            batch, workers, size = rng.randint(3, 9), rng.randint(2, 4), rng.randint(30, 90)
            parts = [size // workers + (w < size % workers) for w in range(workers)]
            if sum(part % batch for part in parts) > size % batch and min(parts) >= batch:
                break
        return {
            "size": size,
            "batch": batch,
            "workers": workers,
            "ranks": 1,
            "drop": True,
            "inside": True,
            "epochs": rng.randint(2, 4),
            "order": rng.choice(["sequential", "shuffled"]),
            "kept": 0,
            "stop": 1.0,
            "split": False,
        }
