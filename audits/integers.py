"""Sets and tallies of integers, fast where they lie close together, as positions and codes do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from detloader.audits.columns import Flags, Integers

__all__ = [
    "SLICE",
    "SPREAD",
    "are_distinct",
    "ascends",
    "contains",
    "count_others",
    "distinct",
    "first_rows",
    "lacking",
    "overlap",
    "places",
    "places_from_end",
    "repeated",
    "slices",
    "span",
    "tally",
]

SPREAD = 8
"""Integers that a table may have for each value, before sorting is the better way."""

LEAST_TABLE = 1024
"""Integers that a table may have, however few the values are."""

SLICE = 2**18
"""Rows that are worked on at a time where whole copies of a column would cost too much."""


def slices(rows: int, start: int = 0, *, size: int = SLICE, overlap: int = 0) -> Iterator[slice]:
    """Cut rows into slices, which fit into a processor's cache; with so many of the next one."""
    for begin in range(start, rows, size):
        yield slice(begin, min(begin + size + overlap, rows))


def tally(values: Integers) -> tuple[Integers, Integers]:
    """Give the distinct values, ascending, and how often each comes."""
    if not len(values):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    low, high = int(values.min()), int(values.max())
    if low == high:
        return values[:1].copy(), np.array([len(values)])
    if _is_close(low, high, len(values)):
        counts = np.bincount(values - low)
        found = np.flatnonzero(counts)
        return found + low, counts[found]
    ordered = np.sort(values)
    firsts = np.flatnonzero(_fresh(ordered))
    return ordered[firsts], np.diff(np.append(firsts, len(ordered)))


def places_from_end(parts: Integers) -> Integers:
    """Count the rows of each part that come after a row: 0 for the last one of its part."""
    order = np.argsort(parts, kind="stable")
    lengths = tally(parts)[1]
    from_end = np.empty(len(parts), np.int64)
    from_end[order] = np.repeat(np.cumsum(lengths), lengths) - 1 - np.arange(len(parts))
    return from_end


def distinct(values: Integers) -> Integers:
    """Give the distinct values, ascending."""
    table = _table(values, len(values))
    if table is not None:
        low, members = table
        found = np.flatnonzero(members)
        found += low
        return found
    ordered = np.sort(values)
    return ordered[_fresh(ordered)]


def are_distinct(values: Integers) -> bool:
    """Tell whether no value comes twice."""
    table = _table(values, len(values))
    if table is not None:
        return int(np.count_nonzero(table[1])) == len(values)
    ordered = np.sort(values)
    return bool((ordered[1:] != ordered[:-1]).all())


def contains(pool: Integers, values: Integers) -> Flags:
    """Tell for each value whether it is in the pool."""
    if not len(pool):
        return np.zeros(len(values), np.bool_)
    table = _table(pool, len(pool) + len(values))
    if table is None:
        return _contains_far(pool, values)
    low, members = table
    found = np.empty(len(values), np.bool_)
    for rows in slices(len(values)):
        some = values[rows]
        inside = (some >= low) & (some < low + len(members))
        found[rows] = members[np.where(inside, some, low) - low] & inside
    return found


def count_others(keys: Integers, values: Integers) -> int:
    """Count the values that are not the first one of their key."""
    first = first_rows(keys)
    return sum(
        int(np.count_nonzero(values[first(rows)] != values[rows])) for rows in slices(len(keys))
    )


def overlap(one: Integers, other: Integers) -> bool:
    """Tell whether any value is in both."""
    return bool(contains(other, one[:SLICE]).any() or contains(other, one).any())


def _contains_far(pool: Integers, values: Integers) -> Flags:
    if len(values) < len(pool):
        pool = pool[contains(values, pool)]
    if not len(pool):
        return np.zeros(len(values), np.bool_)
    ordered = distinct(pool)
    found: Flags = ordered[np.searchsorted(ordered[:-1], values)] == values
    return found


def lacking(pool: Integers, values: Integers) -> Integers:
    """Give the distinct members of a pool that are not among the values, ascending."""
    table = _table(pool, len(pool) + len(values))
    if table is None:
        members = distinct(pool)
        return members[~contains(values, members)]
    low, left = table
    for rows in slices(len(values)):
        some = values[rows]
        left[some[(some >= low) & (some < low + len(left))] - low] = False
    return np.flatnonzero(left) + low


def places(pool: Integers, values: Integers) -> Integers:
    """Give the place of each value in a pool of distinct ones; -1 where it is not there."""
    found = np.full(len(values), -1)
    low, high = (int(pool.min()), int(pool.max())) if len(pool) else (0, -1)
    if _is_close(low, high, len(pool) + len(values)):
        place = np.full(high - low + 1, -1)
        for rows in slices(len(pool)):
            place[pool[rows] - low] = np.arange(rows.start, rows.stop)
        for rows in slices(len(values)):
            some = values[rows]
            inside = (some >= low) & (some <= high)
            found[rows][inside] = place[some[inside] - low]
        return found
    order = np.argsort(pool)
    near = np.searchsorted(pool, values, sorter=order)
    near[near == len(pool)] = 0
    nearest = order[near]
    there = pool[nearest] == values
    found[there] = nearest[there]
    return found


def ascends(values: Integers) -> bool:
    """Tell whether each value is greater than the one before."""
    return all(
        bool((values[rows][1:] > values[rows][:-1]).all())
        for rows in slices(len(values), overlap=1)
    )


def span(values: Integers) -> range | None:
    """Give the integers that the values are, from the least on; None where any is left out."""
    table = _table(values, len(values))
    if table is None or not table[1].all():
        return None
    return range(table[0], table[0] + len(table[1]))


def repeated(values: Integers) -> Flags:
    """Tell for each value whether it comes more than once."""
    if are_distinct(values):
        return np.zeros(len(values), np.bool_)
    members, counts = tally(values)
    return contains(members[counts > 1], values)


def first_rows(values: Integers) -> Callable[[slice], Integers]:
    """Tell for rows, some at a time, which is the first row of the same value."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, -1)
    if not _is_close(low, high, len(values)):
        found = _first_rows_far(values)
        return lambda rows: found[rows]
    first = np.empty(high - low + 1, np.int64)
    for rows in reversed([*slices(len(values))]):
        first[values[rows][::-1] - low] = np.arange(rows.start, rows.stop)[::-1]
    return lambda rows: first[values[rows] - low]


def _first_rows_far(values: Integers) -> Integers:
    order = np.argsort(values, kind="stable")
    begins = np.where(_fresh(values[order]), np.arange(len(values)), 0)
    found = np.empty(len(values), np.int64)
    found[order] = order[np.maximum.accumulate(begins)]
    return found


def _table(values: Integers, size: int) -> tuple[int, Flags] | None:
    """Give the least value, and from there on which integers are values; None if far apart."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, -1)
    if not _is_close(low, high, size):
        return None
    if low == high:
        return low, np.ones(1, np.bool_)
    members = np.zeros(high - low + 1, np.bool_)
    for rows in slices(len(values)):
        members[values[rows] - low] = True
    return low, members


def _is_close(low: int, high: int, size: int) -> bool:
    return high - low < SPREAD * size + LEAST_TABLE


def _fresh(ordered: Integers) -> Flags:
    """Tell for each of some values in order whether it is the first of its kind."""
    fresh = np.ones(len(ordered), np.bool_)
    fresh[1:] = ordered[1:] != ordered[:-1]
    return fresh
