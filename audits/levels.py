"""Where two streams first differ at each level: set, order, batches, draws, content, raw.

All works on what the comparison has found, a slice of rows at a time, and stops at the first
row that differs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.alignment import match_occurrences
from detloader.audits.batches import global_starts
from detloader.audits.columns import are_equal
from detloader.audits.compare import others, pair_keys, row_keys
from detloader.audits.first import describe, first_unequal
from detloader.audits.headers import difference_levels
from detloader.audits.integers import SLICE, contains, slices, tally
from detloader.findings import DifferenceLevel, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from detloader.audits.columns import Flags, Integers
    from detloader.audits.compare import Comparison
    from detloader.audits.view import StreamView
    from detloader.findings import FirstDifference, FirstDifferences

__all__ = ["first_differences"]

FIRST_ROWS = 4096
"""Rows whose batches are looked at first, for most runs that differ do so early."""

ALIKE = frozenset({Verdict.IDENTICAL, Verdict.EQUIVALENT})
"""Verdicts under which global batches hold the same rows, with the same draws and content."""


def first_differences(comparison: Comparison) -> FirstDifferences:
    """Find the first row that differs at each level that the compared columns can tell."""
    levels = difference_levels(["record", *comparison.a.compared])
    if comparison.verdict is Verdict.IDENTICAL:
        return dict.fromkeys(levels)
    search = _Search(comparison)
    finders = {
        DifferenceLevel.SET: search.in_set,
        DifferenceLevel.ORDER: search.in_order,
        DifferenceLevel.BATCHES_AS_SETS: search.in_batches_as_sets,
        DifferenceLevel.BATCHES: search.in_batches,
        DifferenceLevel.DRAWS: search.in_draws,
        DifferenceLevel.CONTENT: search.in_content,
        DifferenceLevel.RAW: search.in_raw,
    }
    return {level: finders[level]() for level in levels}


@dataclass(frozen=True, eq=False)
class _Search:
    """Looks for the first row that differs; None where there is none."""

    comparison: Comparison

    @property
    def _views(self) -> tuple[StreamView, StreamView]:
        return self.comparison.a, self.comparison.b

    def in_set(self) -> FirstDifference | None:
        """Find the first row that is one too many in its epoch."""
        a, b = self._views
        matched = self.comparison.alignment
        if len(matched.rows_a) == a.rows == b.rows:
            return None
        keys_a, keys_b = row_keys(a, b)
        return self._first_of(
            _first_surplus(keys_a, matched.rows_a), _first_surplus(keys_b, matched.rows_b)
        )

    def in_order(self) -> FirstDifference | None:
        """Find the first row that is another record, or of another epoch."""
        return self._first_of(self._other_record, self._other_record)

    @cached_property
    def _other_record(self) -> int | None:
        a, b = self._views
        end = shorter = min(a.rows, b.rows)
        for name in ("record", "epoch"):
            row = first_unequal(a, b, name, end)
            end = end if row is None else row
        return end if end < shorter or a.rows != b.rows else None

    def in_batches_as_sets(self) -> FirstDifference | None:
        """Find the first row that is one too many in the first global batch of other records."""
        a, b = self._views
        batch = None if self.comparison.verdict in ALIKE else _first_other_batch(a, b)
        if batch is None:
            return None
        keys = row_keys(a.take(batch[0]), b.take(batch[1]))
        firsts = map(_first_surplus, keys, match_occurrences(*keys))
        return self._first_of(*(None if row is None else batch[0].start + row for row in firsts))

    def in_batches(self) -> FirstDifference | None:
        """Find the first row that begins a batch in one run alone, or is another record."""
        a, b = self._views
        end = a.rows if self._other_record is None else self._other_record
        row = first_unequal(a, b, "batch", end)
        return self.in_order() if row is None else describe(a, row, b, row, "batch")

    def in_draws(self) -> FirstDifference | None:
        """Find the first record with other draws, of those that do not follow the place."""
        flags = self.comparison.redrawn
        if not flags.any():
            return None
        a, b = self._views
        rows = min(a.rows, b.rows)
        found = [
            self._first_matched(flags, name)
            for name in _draws(a)
            if not are_equal(a.compared[name], b.compared[name], rows)
        ]
        return min(filter(None, found), key=lambda one: one.row, default=None)

    def in_content(self) -> FirstDifference | None:
        """Find the first record of equal draws with other content."""
        a = self.comparison.a
        # Without `raw`, rows have drifted for this reason alone.
        equal = _draws(a) if "raw" in a.compared else []
        return self._first_matched(self.comparison.drifted, "content", equal)

    def in_raw(self) -> FirstDifference | None:
        """Find the first record of which something else was read."""
        return self._first_matched(self.comparison.drifted, "raw")

    def _first_matched(
        self, flags: Flags, name: str, equal: Iterable[str] = ()
    ) -> FirstDifference | None:
        """Find the first flagged record that differs in one column and is equal in others."""
        if self.comparison.verdict in ALIKE or not flags.any():
            return None
        a, b = self._views
        left, right = a.compared[name], b.compared[name]
        for some in slices(len(flags)):
            places = some.start + np.flatnonzero(flags[some])
            rows_a = self.comparison.alignment.rows_a[places]
            rows_b = self.comparison.alignment.rows_b[places]
            differs = ~left.take(rows_a).equals(right.take(rows_b))
            for other in equal if differs.any() else ():
                differs &= a.compared[other].take(rows_a).equals(b.compared[other].take(rows_b))
            if differs.any():
                first = int(np.argmax(differs))
                return describe(a, int(rows_a[first]), b, int(rows_b[first]), name)
        return None

    def _first_of(self, row_a: int | None, row_b: int | None) -> FirstDifference | None:
        """Describe the earlier of two rows, or both where they stand at one place."""
        known = [row for row in (row_a, row_b) if row is not None]
        if not known:
            return None
        a, b = self._views
        row = min(known)
        in_both = row_a == row_b and row < min(a.rows, b.rows)
        same_record = in_both and a.record.values[row] == b.record.values[row]
        at_a, at_b = (row if of_run == row else None for of_run in (row_a, row_b))
        return describe(a, at_a, b, at_b, "epoch" if same_record else "record")


def _draws(view: StreamView) -> list[str]:
    return [name for name in view.compared if name.startswith("draws")]


def _first_surplus(keys: Integers, matched: Integers) -> int | None:
    """Give the first row up to which a key comes more often than in the whole other run.

    Args:
        keys: shape (rows,), a number for each row.
        matched: the rows that the other run has, whichever of equal keys these are.
    """
    if len(matched) == len(keys):
        return None
    left = others(len(keys), matched)
    first = keys[left[0]]
    if np.count_nonzero(keys == first) == np.count_nonzero(keys[left] == first):
        return int(left[0])  # no row of this key is matched, and none before it is left
    lost, counts = tally(keys[left])
    rows = np.flatnonzero(contains(lost, keys))
    order = np.argsort(keys[rows], kind="stable")
    ends = np.cumsum(tally(keys[rows])[1])
    return int(rows[order[ends - counts]].min())


def _first_other_batch(a: StreamView, b: StreamView) -> tuple[slice, slice] | None:
    """Give the rows, in both runs, of the first global batch that has other records."""
    starts_a, starts_b = global_starts(a), global_starts(b)
    begin, size = 0, FIRST_ROWS
    while begin < max(a.rows, b.rows):
        ends_a = _batch_ends(starts_a, slice(begin, begin + size), a.rows)
        ends_b = _batch_ends(starts_b, slice(begin, begin + size), b.rows)
        whole = min(len(ends_a), len(ends_b))
        if not whole:
            size *= 2
            continue
        number = _first_unlike(a, b, begin, ends_a[:whole], ends_b[:whole])
        if number < whole:
            start = int(ends_a[number - 1]) if number else begin
            return slice(start, int(ends_a[number])), slice(start, int(ends_b[number]))
        begin, size = int(ends_a[whole - 1]), min(2 * size, SLICE)
    return None


def _batch_ends(starts: Callable[[slice], Flags], rows: slice, end: int) -> Integers:
    """Give the ends of the batches that lie in some rows, and of an empty one where a run ends."""
    within = slice(rows.start, min(rows.stop, end))
    ends = np.flatnonzero(starts(within))[1:] + rows.start
    return np.append(ends, end) if within.stop == end else ends


def _first_unlike(
    a: StreamView, b: StreamView, begin: int, ends_a: Integers, ends_b: Integers
) -> int:
    """Number the first of as many batches that has other records; their count if none has.

    Args:
        a: the baseline.
        b: the other run.
        begin: where the first of the batches begins in both.
        ends_a: shape (batches,), int64; where they end in the baseline.
        ends_b: where they end in the other run.
    """
    longer = np.flatnonzero(ends_a != ends_b)
    alike = int(longer[0]) if len(longer) else len(ends_a)
    if not alike:
        return 0
    rows = slice(begin, int(ends_a[alike - 1]))
    keys_a, keys_b = row_keys(a.take(rows), b.take(rows))
    if np.array_equal(keys_a, keys_b):
        return alike
    number = np.repeat(np.arange(alike), np.diff(ends_a[:alike], prepend=begin))
    sorted_a, sorted_b = map(np.sort, pair_keys((number, number), (keys_a, keys_b)))
    differs = sorted_a != sorted_b
    return int(number[np.argmax(differs)]) if differs.any() else alike
