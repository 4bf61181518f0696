"""Sources and transforms that spawned workers run: they import them from here."""

from __future__ import annotations

import os
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np

FAILING = 7
"""The record that the failing transforms and sources of this module fail on."""


class Pair(NamedTuple):
    """A record with names and an order."""

    x: np.ndarray
    y: int


def draw_one(record: Any, rng: np.random.Generator) -> float:
    return float(rng.random())


def number_and_draw(record: int, rng: np.random.Generator) -> dict[str, Any]:
    return {"id": np.int64(record), "value": rng.normal()}


def draw_as_asked(record: int, rng: np.random.Generator) -> dict[str, Any]:
    """Take record % 5 words of 32 bits, so that every fifth record takes none."""
    return {"id": record, "words": int(sum(rng.integers(0, 9, record % 5, dtype=np.uint32)))}


def add_noise(record: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    return {"x": record["x"] + rng.normal(size=8).astype(np.float32), "y": record["y"]}


def add_row(record: int, rng: np.random.Generator) -> tuple[np.ndarray, list[Any]]:
    return rng.normal(size=(2, 3)).astype(">f4"), [record, b"x"]


def every_structure(record: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return containers of every kind, with numbers and text of several types."""
    return {
        "tuple": (np.full(3, record, np.uint8), rng.integers(0, 99, dtype=np.uint32)),
        "list": [record, float(rng.random())],
        "named": Pair(rng.normal(size=(2, 2)).astype(np.float32), record % 2),
        "ordered": OrderedDict(b=np.int16(record), a=[bool(record % 2)]),
        "text": "x" * (record % 4),
        "mixed": np.arange(2, dtype=np.int32 if record % 2 else np.float64),
    }


def process_id(record: int, rng: np.random.Generator) -> dict[str, int]:
    return {"id": record, "pid": os.getpid()}


def fail_on_seven(record: int, rng: np.random.Generator) -> int:
    if record == FAILING:
        message = "a bad record\nin two lines"
        raise KeyError(message)
    return record


def none_for_seven(record: int, rng: np.random.Generator) -> int | None:
    return None if record == FAILING else record


def ragged_at_seven(record: int, rng: np.random.Generator) -> np.ndarray:
    return np.zeros(3 if record == FAILING else 2)


def other_keys_at_seven(record: int, rng: np.random.Generator) -> dict[str, int]:
    return {"x": record, "more": 0} if record == FAILING else {"x": record}


def change_in_place(record: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    record["x"] += 1
    record["log"].append("seen")
    record["new"] = rng.random()
    return {"x": record["x"], "seen": len(record["log"]), "new": record["new"]}


class FailingSource:
    """Twelve numbers of which one cannot be read."""

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> int:
        if index == FAILING:
            message = "disk on fire"
            raise OSError(message)
        return index


class GapSource(FailingSource):
    """Twelve numbers of which one is None."""

    def __getitem__(self, index: int) -> Any:
        return None if index == FAILING else index


class CountingSource:
    """Numbers; it writes down each access, in a file that all processes share."""

    def __init__(self, path: str, size: int) -> None:
        self._path = path
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: int) -> int:
        with open(self._path, "ab", buffering=0) as log:  # noqa: PTH123 - one system call
            log.write(index.to_bytes(4, "little"))
        return index

    def accesses(self) -> list[int]:
        with open(self._path, "rb") as log:  # noqa: PTH123 - as above
            return [int(index) for index in np.frombuffer(log.read(), "<u4")]
