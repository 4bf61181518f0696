"""Two streams, their rows side by side, counted by kind of difference."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.alignment import Alignment, align
from detloader.audits.batches import batch_spans
from detloader.audits.columns import are_equal
from detloader.audits.first import first_difference
from detloader.audits.integers import contains, distinct, slices, tally
from detloader.audits.substitutes import substitutes
from detloader.audits.verdict import choose_verdict, same_sequence
from detloader.findings import Counts, Verdict

if TYPE_CHECKING:
    from detloader.audits.columns import Flags, Integers
    from detloader.audits.view import StreamView
    from detloader.findings import FirstDifference

__all__ = ["Comparison", "compare", "others", "pair_keys", "row_keys"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """What differs between two streams.

    Attributes:
        a: the baseline's rows, as far as they could be compared.
        b: the other run's, with the same compared columns.
        alignment: which row of b is which row of a.
        redrawn: shape (common,); matched rows of other draws, unless these follow the place.
        drifted: shape (common,); matched rows of other content.
        counts: rows by kind of difference.
        verdict: the first that fits.
        first_difference: the first row that differs; None where there is none.
    """

    a: StreamView
    b: StreamView
    alignment: Alignment
    redrawn: Flags
    drifted: Flags
    counts: Counts
    verdict: Verdict
    first_difference: FirstDifference | None


def compare(a: StreamView, b: StreamView) -> Comparison:
    """Compare two views that were loaded together and have the same compared columns."""
    alignment, unmatched = _align(a, b)
    redraws = _Redraws(a, b, alignment)
    drifted = _drifted(a, b, redraws)
    verdict = choose_verdict(
        a,
        b,
        same_records=len(alignment.rows_a) == a.rows == b.rows,
        same_draws=not redraws.independent.any(),
        same_content=not drifted.any() and _same_marks(a, b, alignment),
    )
    alike = verdict in {Verdict.IDENTICAL, Verdict.EQUIVALENT}
    counts = Counts(
        moved=alignment.moved,
        **unmatched,
        content=0 if alike else int(drifted.sum()),
        draws=0 if alike else int(redraws.independent.sum()),
        batches=0 if alike else _rebatched(a, b),
    )
    return Comparison(
        a=a,
        b=b,
        alignment=alignment,
        redrawn=redraws.independent,
        drifted=drifted,
        counts=counts,
        verdict=verdict,
        first_difference=first_difference(a, b),
    )


def _align(a: StreamView, b: StreamView) -> tuple[Alignment, dict[str, int]]:
    keys_a, keys_b = row_keys(a, b)
    alignment = align(keys_a, keys_b)
    return alignment, _unmatched(a, b, alignment, keys_a, keys_b)


def row_keys(a: StreamView, b: StreamView) -> tuple[Integers, Integers]:
    """Give each row a number that stands for its (epoch, record) in both views."""
    return pair_keys((a.epoch, b.epoch), (a.record.values, b.record.values))


def pair_keys(
    groups: tuple[Integers, Integers], members: tuple[Integers, Integers]
) -> tuple[Integers, Integers]:
    """Give each row of two runs a number that stands for its (group, member) in both.

    The numbers of one group lie between those of lesser and of greater groups.
    """
    first, last = _span(groups)
    if first == last:
        return members
    low, high = _span(members)
    if (high - low + 1) * (last - first + 1) >= 2**62:
        groups, members = _ranked(groups), _ranked(members)
        (first, last), (low, high) = _span(groups), _span(members)
    width = high - low + 1
    key_type = np.int32 if width * (last - first + 1) < 2**31 else np.int64
    key_a: Integers = np.empty(len(members[0]), key_type)
    key_b: Integers = np.empty(len(members[1]), key_type)
    for key, group, member in zip((key_a, key_b), groups, members, strict=True):
        for rows in slices(len(key)):
            key[rows] = (group[rows] - first) * width + (member[rows] - low)
    return key_a, key_b


def _span(values: tuple[Integers, Integers]) -> tuple[int, int]:
    known = [part for part in values if len(part)]
    if not known:
        return 0, 0
    return min(int(part.min()) for part in known), max(int(part.max()) for part in known)


def _ranked(values: tuple[Integers, Integers]) -> tuple[Integers, Integers]:
    """Give each value its rank among the distinct values of both."""
    members = distinct(np.concatenate(values))
    return np.searchsorted(members, values[0]), np.searchsorted(members, values[1])


def _differs(a: StreamView, b: StreamView, name: str, alignment: Alignment) -> Flags:
    """Tell which matched rows differ, some at a time: whole copies would cost more than asking."""
    left, right = a.compared[name], b.compared[name]
    differs = np.empty(len(alignment.rows_a), dtype=np.bool_)
    in_order = len(differs) == a.rows  # then rows_a are all rows, one after the other
    for rows in slices(len(differs)):
        one = left.take(rows if in_order else alignment.rows_a[rows])
        differs[rows] = ~one.equals(right.take(alignment.rows_b[rows]))
    return differs


@dataclass(frozen=True, eq=False)
class _Redraws:
    """Which matched rows have other draws; told when it is asked for.

    Draws that are equal place by place, where rows stand at other places, follow the
    place: that they differ for a record is a consequence of the order.
    """

    a: StreamView
    b: StreamView
    alignment: Alignment

    @cached_property
    def independent(self) -> Flags:
        """Tell which rows have other draws not for their place alone."""
        return self._differ(follow=False)

    @cached_property
    def all(self) -> Flags:
        """Tell which rows have other draws."""
        return self.independent | self._differ(follow=True)

    def _differ(self, *, follow: bool) -> Flags:
        a, b = self.a.compared, self.b.compared
        shorter = min(self.a.rows, self.b.rows)
        redrawn = np.zeros(len(self.alignment.rows_a), dtype=np.bool_)
        for name in a:
            if name.startswith("draws") and are_equal(a[name], b[name], shorter) is follow:
                redrawn |= _differs(self.a, self.b, name, self.alignment)
        return redrawn


def _drifted(a: StreamView, b: StreamView, redraws: _Redraws) -> Flags:
    """Tell which matched rows hold other content that other draws do not explain."""
    drifted = np.zeros(len(redraws.alignment.rows_a), dtype=np.bool_)
    if "content" in a.compared:
        drifted |= _differs(a, b, "content", redraws.alignment)
        if drifted.any():
            drifted &= ~redraws.all
    if "raw" in a.compared:
        drifted |= _differs(a, b, "raw", redraws.alignment)
    return drifted


def _same_marks(a: StreamView, b: StreamView, alignment: Alignment) -> bool:
    marks = set(a.compared) - {"batch", "content", "raw"}
    return not any(
        _differs(a, b, name, alignment).any() for name in marks if not name.startswith("draws")
    )


def _unmatched(
    a: StreamView, b: StreamView, alignment: Alignment, keys_a: Integers, keys_b: Integers
) -> dict[str, int]:
    lost = tally(keys_a[others(a.rows, alignment.rows_a)])
    found = tally(keys_b[others(b.rows, alignment.rows_b)])
    left = found[1]
    if a.rows == b.rows and len(left):
        places = np.flatnonzero(contains(lost[0], keys_a))
        places = places[a.epoch[places] == b.epoch[places]]
        left = left - substitutes(keys_a[places], keys_b[places], lost, found)
    substituted = int(found[1].sum() - left.sum())
    duplicated = int(left[contains(keys_a, found[0])].sum())
    return {
        "missing": int(lost[1].sum()) - substituted,
        "extra": int(left.sum()) - duplicated,
        "duplicated": duplicated,
        "substituted": substituted,
    }


def others(rows: int, matched: Integers) -> Integers:
    """Give the rows, of so many, that are not among the matched ones, ascending."""
    left = np.ones(rows, dtype=np.bool_)
    left[matched] = False
    return np.flatnonzero(left)


def _rebatched(a: StreamView, b: StreamView) -> int:
    """Count the rows in another batch; where the order differs, batches do so in consequence."""
    if "batch" not in a.compared or a.rows != b.rows:
        return 0
    orders = same_sequence(a, b, ("record",))
    if orders is None:
        return 0
    first_a, last_a = batch_spans(a, orders[0])
    first_b, last_b = batch_spans(b, orders[1])
    return int(((first_a != first_b) | (last_a != last_b)).sum())
