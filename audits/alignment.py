"""Which row of one run is which row of another.

Rows are matched by a key, here (epoch, record). Equal beginnings and ends match
first, then the longest common subsequence, then what is left by occurrence: the
k-th of a key in one run is the k-th of that key in the other.

The longest common subsequence is exact while the pairs of rows with equal keys
are few enough (Hunt and Szymanski 1977); beyond that, and wherever keys do not
repeat, it is the longest increasing subsequence of the matches by occurrence
(patience sorting), which is the same thing where keys do not repeat.
"""

from __future__ import annotations

from bisect import bisect_left
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.increasing import longest_increasing
from detloader.audits.integers import SPREAD, slices, tally

if TYPE_CHECKING:
    from detloader.audits.columns import Integers

__all__ = ["EXACT_PAIRS", "Alignment", "align", "longest_increasing", "match_occurrences"]

EXACT_PAIRS = 2_000_000
"""Pairs of equal keys up to which the longest common subsequence of repeating keys is exact."""

MANY = 1_000_000
"""Rows from which on a thread of its own counts the moved ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """Rows that two runs have in common.

    Attributes:
        rows_a: shape (common,), int64; rows of the first run, ascending.
        rows_b: shape (common,), int64; the row of the second run that each of them is.
        counted: how many of them lie outside the longest common subsequence; of many rows this
            is counted while others ask for the rows.
    """

    rows_a: Integers
    rows_b: Integers
    counted: Future[int]

    @property
    def moved(self) -> int:
        """Give how many of them lie outside the longest common subsequence."""
        return self.counted.result()


def align(keys_a: Integers, keys_b: Integers) -> Alignment:
    """Match the rows of two runs by their keys.

    Args:
        keys_a: shape (rows of a,), int64.
        keys_b: shape (rows of b,), int64.
    """
    shorter = min(len(keys_a), len(keys_b))
    head = _equal_length(keys_a[:shorter], keys_b[:shorter])
    rest = shorter - head
    tail = _equal_length(
        keys_a[len(keys_a) - rest :][::-1],
        keys_b[len(keys_b) - rest :][::-1],
    )
    inner_a, inner_b, counted = _align_inner(
        keys_a[head : len(keys_a) - tail], keys_b[head : len(keys_b) - tail]
    )
    if not head and not tail:
        return Alignment(inner_a, inner_b, counted)
    return Alignment(
        _with_ends(inner_a, head, range(len(keys_a) - tail, len(keys_a))),
        _with_ends(inner_b, head, range(len(keys_b) - tail, len(keys_b))),
        counted,
    )


def _with_ends(inner: Integers, head: int, tail: range) -> Integers:
    rows = np.empty(head + len(inner) + len(tail), np.int64)
    rows[:head] = np.arange(head)
    rows[head : head + len(inner)] = inner + head
    rows[head + len(inner) :] = np.arange(tail.start, tail.stop)
    return rows


def _equal_length(left: Integers, right: Integers) -> int:
    differs = left != right
    return int(np.argmax(differs)) if differs.any() else len(left)


def _align_inner(keys_a: Integers, keys_b: Integers) -> tuple[Integers, Integers, Future[int]]:
    matched = _match_distinct(keys_a, keys_b)
    rows_a, rows_b = match_occurrences(keys_a, keys_b) if matched is None else matched
    if not len(rows_a):
        return rows_a, rows_b, _known(0)
    if matched is not None or not len(rows_a) < _pair_count(keys_a, keys_b) <= EXACT_PAIRS:
        return rows_a, rows_b, _count_moved(rows_b)
    kept_a, kept_b = _common_subsequence(keys_a, keys_b)
    left_a = np.setdiff1d(np.arange(len(keys_a)), kept_a, assume_unique=True)
    left_b = np.setdiff1d(np.arange(len(keys_b)), kept_b, assume_unique=True)
    more_a, more_b = match_occurrences(keys_a[left_a], keys_b[left_b])
    all_a = np.concatenate([kept_a, left_a[more_a]])
    all_b = np.concatenate([kept_b, left_b[more_b]])
    order = np.argsort(all_a)
    return all_a[order], all_b[order], _known(len(more_a))


def _count_moved(rows: Integers) -> Future[int]:
    """Count the rows outside the longest increasing subsequence: of many, beside all else."""

    def count() -> int:
        return len(rows) - longest_increasing(rows)

    if len(rows) < MANY:
        return _known(count())
    with_one = ThreadPoolExecutor(1)
    counted = with_one.submit(count)
    with_one.shutdown(wait=False)
    return counted


def _known(count: int) -> Future[int]:
    counted: Future[int] = Future()
    counted.set_result(count)
    return counted


def _match_distinct(keys_a: Integers, keys_b: Integers) -> tuple[Integers, Integers] | None:
    """Match keys that do not repeat and lie close together, by a table; else give None."""
    if not len(keys_a) or not len(keys_b):
        return None
    low = min(int(keys_a.min()), int(keys_b.min()))
    size = max(int(keys_a.max()), int(keys_b.max())) - low + 1
    if size > SPREAD * max(len(keys_a), len(keys_b)):
        return None
    place: Integers = np.full(size, -1, np.int32 if len(keys_b) < 2**31 else np.int64)
    taken = np.zeros(size, np.bool_)
    for rows in slices(len(keys_b)):
        place[keys_b[rows] - low] = np.arange(rows.start, rows.stop, dtype=place.dtype)
    for rows in slices(len(keys_a)):
        taken[keys_a[rows] - low] = True
    if np.count_nonzero(taken) < len(keys_a) or np.count_nonzero(place >= 0) < len(keys_b):
        return None
    rows_b = np.empty(len(keys_a), np.int64)
    for rows in slices(len(keys_a)):
        rows_b[rows] = place[keys_a[rows] - low]
    found = rows_b >= 0
    return (np.flatnonzero(found), rows_b if found.all() else rows_b[found])


def match_occurrences(keys_a: Integers, keys_b: Integers) -> tuple[Integers, Integers]:
    """Match the k-th occurrence of each key in a with its k-th occurrence in b.

    Returns:
        Rows of a, ascending, and the rows of b that they match; both int64.
    """
    order_a, order_b = np.argsort(keys_a, kind="stable"), np.argsort(keys_b, kind="stable")
    sorted_a, sorted_b = keys_a[order_a], keys_b[order_b]
    occurrence = np.arange(len(sorted_a)) - np.searchsorted(sorted_a, sorted_a)
    partner = np.searchsorted(sorted_b, sorted_a) + occurrence
    found = partner < len(sorted_b)
    found[found] = sorted_b[partner[found]] == sorted_a[found]
    rows_a, rows_b = order_a[found], order_b[partner[found]]
    back = np.argsort(rows_a)
    return rows_a[back], rows_b[back]


def _pair_count(keys_a: Integers, keys_b: Integers) -> float:
    (values_a, counts_a), (values_b, counts_b) = tally(keys_a), tally(keys_b)
    _, in_a, in_b = np.intersect1d(values_a, values_b, assume_unique=True, return_indices=True)
    return float(np.dot(counts_a[in_a].astype(np.float64), counts_b[in_b].astype(np.float64)))


def _common_subsequence(keys_a: Integers, keys_b: Integers) -> tuple[Integers, Integers]:
    """Give the rows of one longest common subsequence, in both runs."""
    places: dict[int, list[int]] = {}
    # Descending, so that no two pairs of one row of a follow each other in a chain.
    for row, key in reversed([*enumerate(keys_b.tolist())]):
        places.setdefault(key, []).append(row)
    tails: list[int] = []
    ends: list[tuple[int, int, object]] = []
    for row_a, key in enumerate(keys_a.tolist()):
        for row_b in places.get(key, ()):
            place = bisect_left(tails, row_b)
            link = (row_a, row_b, ends[place - 1] if place else None)
            if place == len(tails):
                tails.append(row_b)
                ends.append(link)
            elif tails[place] != row_b:
                tails[place] = row_b
                ends[place] = link
    return _follow(ends[-1] if ends else None)


def _follow(link: object) -> tuple[Integers, Integers]:
    rows_a, rows_b = [], []
    while isinstance(link, tuple):
        row_a, row_b, link = link
        rows_a.append(row_a)
        rows_b.append(row_b)
    return np.array(rows_a[::-1], dtype=np.int64), np.array(rows_b[::-1], dtype=np.int64)
