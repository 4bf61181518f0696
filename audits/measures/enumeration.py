"""In which order two runs enumerate their source, and what could have changed it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from detloader.audits.measures.conditions import UNKNOWN, environment_variable
from detloader.manifest.arrays import from_numpy

if TYPE_CHECKING:
    from collections.abc import Callable

    from detloader.audits.columns import Integers
    from detloader.audits.view import StreamView
    from detloader.findings import RecordId
    from detloader.manifest.reader import Stream

__all__ = [
    "MOST_SORTED",
    "Names",
    "hash_seeds",
    "machines",
    "name_records",
    "sort_both_ways",
    "sorting_between",
]

MOST_SORTED = 200_000
"""Records beyond which no sorted order of the names is tried."""

FEW = 1000
"""Rows that are looked up first."""

PLACES = ("platform", "file_system", "filesystem", "fs", "host", "hostname", "os")
"""Variables that tell one machine, or one file system, from another."""


@dataclass(frozen=True, eq=False, slots=True)
class Names:
    """Records of two runs under one numbering.

    Attributes:
        a: shape (rows of a,), int64.
        b: shape (rows of b,), int64.
        texts: the ID, or relative path, that each number stands for; None for numbers.
        relative: whether paths had to be cut to be comparable.
    """

    a: Integers
    b: Integers
    texts: pa.Array[Any] | None
    relative: bool

    def name(self, number: int) -> RecordId:
        """Give the ID that a number stands for."""
        return number if self.texts is None else str(self.texts[number])

    def spell(self, numbers: Integers) -> list[str]:
        """Give the IDs that numbers stand for, as text."""
        if self.texts is None:
            return [str(number) for number in numbers.tolist()]
        return [str(text) for text in self.texts.take(from_numpy(numbers)).to_pylist()]


def name_records(a: StreamView, b: StreamView) -> Names:
    """Number the records of two views; paths that share none are compared without their roots."""
    numbers_a, numbers_b, texts = a.record.values, b.record.values, a.record.vocabulary
    if texts is None or not _are_disjoint(numbers_a, numbers_b):
        return Names(numbers_a, numbers_b, texts, relative=False)
    plain = Names(numbers_a, numbers_b, texts, relative=False)
    used_a, used_b = np.unique(numbers_a), np.unique(numbers_b)
    short_a, short_b = _relative(plain.spell(used_a)), _relative(plain.spell(used_b))
    numbers = {text: number for number, text in enumerate(dict.fromkeys([*short_a, *short_b]))}
    codes = np.zeros(len(texts), np.int64)
    codes[used_a] = [numbers[text] for text in short_a]
    codes[used_b] = [numbers[text] for text in short_b]
    return Names(codes[numbers_a], codes[numbers_b], pa.array([*numbers]), relative=True)


def _are_disjoint(a: Integers, b: Integers) -> bool:
    """Tell whether two runs share no record; a few rows settle it for most."""
    return not np.isin(a[:FEW], b).any() and not np.isin(a, b).any()


def _relative(paths: list[str]) -> list[str]:
    """Cut the folders that all paths begin with."""
    plain = [path.replace("\\", "/") for path in paths]
    folders = [path.split("/")[:-1] for path in plain]
    shared = len(os.path.commonprefix(folders))  # of lists: part by part  # noqa: RUF071
    return ["/".join(path.split("/")[shared:]) for path in plain]


def sorting_between(
    renamed: Callable[[Integers], Integers], names: Names, numbers: Integers
) -> str | None:
    """Tell which sorting makes one enumeration of the other: "text-sort", "reverse", or None.

    Args:
        renamed: gives for records of one run those that the other has at the same places.
        names: what the records are called.
        numbers: shape (records,), int64; all of them, each once.
    """
    if not 1 < len(numbers) <= MOST_SORTED:
        return None
    by_text, by_number = sort_both_ways(names, numbers)
    for first, second in ((by_text, by_number), (by_number, by_text)):
        if np.array_equal(renamed(first), second):
            return "text-sort"
    for order in (by_text, by_number):
        if np.array_equal(renamed(order), order[::-1]):
            return "reverse"
    return None


def sort_both_ways(names: Names, numbers: Integers) -> tuple[Integers, Integers]:
    """Sort records by their names as text, and by the numbers in them."""
    called = names.spell(numbers)
    ranks = range(len(called))
    by_text = numbers[sorted(ranks, key=called.__getitem__)]
    return by_text, numbers[sorted(ranks, key=lambda rank: _natural(called[rank]))]


def _natural(text: str) -> list[tuple[bool, int, str]]:
    """Give a key by which "img2" comes before "img10"."""
    parts = re.findall(r"\d+|\D+", text.removeprefix("-"))
    sign = -1 if text.startswith("-") else 1
    return [
        (False, sign * int(part), "") if part.isdecimal() else (True, 0, part) for part in parts
    ]


def hash_seeds(a: Stream, b: Stream) -> list[str] | None:
    """Give the hash seeds of two processes whose sets may have had other orders; else None."""
    seeds = [environment_variable(stream, "PYTHONHASHSEED") for stream in (a, b)]
    if UNKNOWN in seeds:
        return None
    named = ["random" if seed is None or seed == "random" else str(seed) for seed in seeds]
    return None if named[0] == named[1] != "random" else named


def machines(a: Stream, b: Stream) -> list[str] | None:
    """Give the names of two machines or file systems, where both are known and differ."""
    for variable in PLACES:
        pair = [environment_variable(stream, variable) for stream in (a, b)]
        if UNKNOWN not in pair and None not in pair and pair[0] != pair[1]:
            return [str(name) for name in pair]
    platforms = [a.environment.platform, b.environment.platform]
    if None not in platforms and platforms[0] != platforms[1]:
        return [str(name) for name in platforms]
    return None
