"""Sets and tallies of integers, fast where they lie close together, as positions and codes do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from detloader.audits.columns import Integers

__all__ = ["SPREAD", "are_distinct", "distinct", "lacking", "slices", "tally"]

SPREAD = 8
"""Integers that a table may have for each value, before sorting is the better way."""

SLICE = 2**18
"""Rows that are worked on at a time where whole copies of a column would cost too much."""


def slices(rows: int, start: int = 0) -> Iterator[slice]:
    """Cut rows into slices that fit into a processor's cache."""
    for begin in range(start, rows, SLICE):
        yield slice(begin, min(begin + SLICE, rows))


def tally(values: Integers) -> tuple[Integers, Integers]:
    """Give the distinct values, ascending, and how often each comes."""
    if not len(values):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    low, high = int(values.min()), int(values.max())
    if low == high:
        return values[:1].copy(), np.array([len(values)])
    if high - low < SPREAD * len(values) + 1024:
        counts = np.bincount(values - low)
        found = np.flatnonzero(counts)
        return found + low, counts[found]
    ordered = np.sort(values)
    firsts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return ordered[firsts], np.diff(np.append(firsts, len(ordered)))


def distinct(values: Integers) -> Integers:
    """Give the distinct values, ascending."""
    return tally(values)[0]


def are_distinct(values: Integers) -> bool:
    """Tell whether no value comes twice."""
    return len(tally(values)[0]) == len(values)


def lacking(pool: Integers, values: Integers) -> Integers:
    """Give the distinct members of a pool that are not among the values, ascending."""
    members = distinct(pool)
    return members[~np.isin(members, values)]
