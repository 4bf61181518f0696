"""Two streams, their rows side by side, counted by kind of difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.alignment import Alignment, align
from detloader.audits.batches import batch_spans
from detloader.audits.columns import are_equal
from detloader.audits.first import first_difference
from detloader.audits.integers import distinct, slices
from detloader.audits.verdict import choose_verdict, same_sequence
from detloader.findings import Counts, Verdict

if TYPE_CHECKING:
    from detloader.audits.columns import Flags, Integers
    from detloader.audits.view import StreamView
    from detloader.findings import FirstDifference

__all__ = ["Comparison", "compare", "row_keys"]


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
    explained, redrawn = _redrawn(a, b, alignment)
    drifted = _drifted(a, b, alignment, explained)
    verdict = choose_verdict(
        a,
        b,
        same_records=len(alignment.rows_a) == a.rows == b.rows,
        same_draws=not redrawn.any(),
        same_content=not drifted.any() and _same_marks(a, b, alignment),
    )
    alike = verdict in {Verdict.IDENTICAL, Verdict.EQUIVALENT}
    counts = Counts(
        moved=alignment.moved,
        **unmatched,
        content=0 if alike else int(drifted.sum()),
        draws=0 if alike else int(redrawn.sum()),
        batches=0 if alike else _rebatched(a, b),
    )
    return Comparison(
        a=a,
        b=b,
        alignment=alignment,
        redrawn=redrawn,
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
    epochs, records = (a.epoch, b.epoch), (a.record.values, b.record.values)
    first, last = _span(epochs)
    if first == last:
        return records
    low, high = _span(records)
    if (high - low + 1) * (last - first + 1) >= 2**62:
        epochs, records = _ranked(epochs), _ranked(records)
        (first, last), (low, high) = _span(epochs), _span(records)
    width = high - low + 1
    key_type = np.int32 if width * (last - first + 1) < 2**31 else np.int64
    key_a: Integers = np.empty(a.rows, key_type)
    key_b: Integers = np.empty(b.rows, key_type)
    for key, epoch, record in zip((key_a, key_b), epochs, records, strict=True):
        for rows in slices(len(key)):
            key[rows] = (epoch[rows] - first) * width + (record[rows] - low)
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
    for rows in slices(len(differs)):
        one, other = left.take(alignment.rows_a[rows]), right.take(alignment.rows_b[rows])
        differs[rows] = ~one.equals(other)
    return differs


def _redrawn(a: StreamView, b: StreamView, alignment: Alignment) -> tuple[Flags, Flags]:
    """Tell which matched rows have other draws, and which of them not for their place alone.

    Draws that are equal place by place, where rows stand at other places, follow the
    place: that they differ for a record is a consequence of the order.
    """
    redrawn = np.zeros(len(alignment.rows_a), dtype=np.bool_)
    independent = redrawn.copy()
    shorter = min(a.rows, b.rows)
    for name in a.compared:
        if not name.startswith("draws"):
            continue
        differs = _differs(a, b, name, alignment)
        redrawn |= differs
        if differs.any() and not are_equal(a.compared[name], b.compared[name], shorter):
            independent |= differs
    return redrawn, independent


def _drifted(a: StreamView, b: StreamView, alignment: Alignment, redrawn: Flags) -> Flags:
    """Tell which matched rows hold other content that other draws do not explain."""
    drifted = np.zeros(len(redrawn), dtype=np.bool_)
    if "content" in a.compared:
        drifted |= _differs(a, b, "content", alignment) & ~redrawn
    if "raw" in a.compared:
        drifted |= _differs(a, b, "raw", alignment)
    return drifted


def _same_marks(a: StreamView, b: StreamView, alignment: Alignment) -> bool:
    marks = set(a.compared) - {"batch", "content", "raw"}
    return not any(
        _differs(a, b, name, alignment).any() for name in marks if not name.startswith("draws")
    )


def _unmatched(
    a: StreamView, b: StreamView, alignment: Alignment, keys_a: Integers, keys_b: Integers
) -> dict[str, int]:
    lost = _others(a.rows, alignment.rows_a)
    found = _others(b.rows, alignment.rows_b)
    substituted = np.zeros(0, np.int64)
    if a.rows == b.rows:
        places = np.intersect1d(lost, found, assume_unique=True)
        substituted = places[a.epoch[places] == b.epoch[places]]
    surplus = np.setdiff1d(found, substituted, assume_unique=True)
    duplicated = int(np.isin(keys_b[surplus], keys_a).sum())
    return {
        "missing": len(lost) - len(substituted),
        "extra": len(surplus) - duplicated,
        "duplicated": duplicated,
        "substituted": len(substituted),
    }


def _others(rows: int, matched: Integers) -> Integers:
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
