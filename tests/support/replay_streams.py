"""Streams of `to_grain` that are made again, some of them with something to hide."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from detloader import to_grain

__all__ = ["augment", "draws_globally", "hides_a_count", "in_place", "mixed_types", "stream"]


class Source:
    """Numbered records of four numbers."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"x": np.full(4, index, np.float32), "y": index}


class Box:
    """A record that nothing copies."""

    def __init__(self, value: int) -> None:
        self.value = value


def augment(record: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Draw in several ways; of every third record nothing is drawn."""
    if record["y"] % 3 == 0:
        return record
    order = np.arange(4)
    rng.shuffle(order)
    noise = rng.normal(0.0, 1.0, size=4).astype(np.float32)
    return {"x": record["x"][order] + noise, "y": record["y"] + rng.integers(0, 9)}


def stream(
    size: int = 50, batch_size: int | None = 4, num_epochs: int | None = 2, workers: int = 0
) -> Any:
    return to_grain(
        Source(size),
        seed=3,
        shuffle=True,
        transform=augment,
        batch_size=batch_size,
        num_epochs=num_epochs,
        workers=workers,
    )


def draws_globally() -> Any:
    def transform(record: int, rng: np.random.Generator) -> dict[str, Any]:
        return {"x": record + random.random()}

    return to_grain(range(20), seed=0, transform=transform, batch_size=4)


def hides_a_count() -> Any:
    count = iter(range(1000))

    def transform(record: int, rng: np.random.Generator) -> dict[str, Any]:
        return {"x": record, "count": next(count)}

    return to_grain(range(20), seed=0, transform=transform, batch_size=4)


def in_place() -> Any:
    def transform(record: Box, rng: np.random.Generator) -> dict[str, Any]:
        record.value = 2 * record.value + 1
        return {"x": record.value}

    return to_grain([Box(number) for number in range(20)], seed=0, transform=transform)


def mixed_types() -> Any:
    """Give whole numbers and fractions in turn, which become fractions in a batch."""

    def transform(record: int, rng: np.random.Generator) -> dict[str, Any]:
        return {"x": record if record % 2 else record / 2}

    return to_grain(range(20), seed=0, transform=transform, batch_size=4)
