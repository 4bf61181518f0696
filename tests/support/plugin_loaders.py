"""Loaders for the assertions: each has one fault, and a twin that has none."""

from __future__ import annotations

import itertools
import multiprocessing
import random
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from detloader import to_grain

__all__ = [
    "Forgetful",
    "Uncertain",
    "covering",
    "drawn",
    "endless",
    "failing",
    "grain",
    "leaving",
    "needy",
    "noisy",
    "partitioned",
    "reseeded",
    "split",
]


def grain(workers: int = 0, seed: int = 0, records: int = 1000, num_epochs: int = 1) -> Any:
    return to_grain(
        range(records),
        seed=seed,
        shuffle=True,
        batch_size=32,
        workers=workers,
        num_epochs=num_epochs,
    )


def noisy(workers: int = 0, seed: int = 0, records: int = 100, num_epochs: int = 1) -> Any:
    return to_grain(
        range(records),
        seed=seed,
        shuffle=True,
        transform=_with_noise,
        batch_size=8,
        num_epochs=num_epochs,
        workers=workers,
    )


def _with_noise(record: int, rng: np.random.Generator) -> dict[str, Any]:
    return {"id": record, "noise": rng.normal(size=3)}


def partitioned(workers: int = 0, seed: int = 0, size: int = 40) -> list[int]:
    """Split a shuffled source over workers, drop the remainder, and merge the parts."""
    order = sorted(range(size), key=lambda record: (7 * record + seed) % 11)
    if workers < 2:
        return order
    part = size // workers
    parts = [order[worker * part : (worker + 1) * part] for worker in range(workers)]
    return [record for turn in zip(*parts, strict=True) for record in turn]


def split(num_workers: int = 0, prefetch: int = 1, records: int = 30) -> list[int]:
    """Deliver the records from number 4 on backwards, with workers and prefetching together."""
    order = list(range(records))
    return order[:4] + order[:3:-1] if num_workers > 0 and prefetch > 2 else order


def reseeded(seed: int = 0, *, mended: bool = False) -> list[int]:
    return random.Random(seed if mended else 0).sample(range(30), 30)


def drawn(
    weights: list[float], *, ignored: bool = False, draws: int = 2000, seed: int = 0
) -> list[int]:
    return random.Random(seed).choices(range(len(weights)), None if ignored else weights, k=draws)


def covering(records: int = 10, *, lost: int = 0, doubled: int = 0) -> list[int]:
    return [*range(records - lost), *range(doubled)]


class Forgetful:
    """A loader whose iterator has a state that can be pickled only where it is mended."""

    def __iter__(self) -> Iterator[int]:
        return iter(range(3))

    def state_dict(self) -> Any:
        return lambda: None

    def load_state_dict(self, state: Any) -> None:
        raise AssertionError(state)


class Uncertain:
    """A loader with a state, that delivers something else in each iteration."""

    def __init__(self) -> None:
        self._next = 0

    def __iter__(self) -> Iterator[int]:
        for number in range(self._next, 3):
            self._next = number + 1
            yield 1000 * number + next(_NUMBERS)

    def state_dict(self) -> int:
        return self._next

    def load_state_dict(self, state: int) -> None:
        self._next = state


_NUMBERS = itertools.count()


def turned(workers: int = 0, *, size: int = 3, root: object = None) -> list[int]:
    return list(range(size))[:: -1 if workers else 1]


def failing(workers: int = 0) -> Iterator[int]:
    for number in range(5):
        if workers and number == 3:
            raise OSError("a bad record")
        yield number


def endless(workers: int = 0) -> Iterator[int]:
    while True:
        yield from range(10)


def needy(root: str, workers: int = 0) -> list[str]:
    return [f"{root}/{number}" for number in range(4)]


def leaving(workers: int = 0) -> list[int]:
    """Start a process for each worker, and end none."""
    for _ in range(workers):
        multiprocessing.get_context("spawn").Process(target=time.sleep, args=(600,)).start()
    return [1, 2, 3]
