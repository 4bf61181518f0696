"""Two streams, their rows side by side, counted by kind of difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.alignment import Alignment, align
from detloader.audits.batches import batch_spans, batch_starts
from detloader.audits.verdict import choose_verdict, same_sequence
from detloader.findings import Counts, FirstDifference, Verdict

if TYPE_CHECKING:
    from detloader.audits.columns import Flags, Integers
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue

__all__ = ["Comparison", "compare", "row_keys"]

PRECEDENCE = ("record", "epoch", "batch", "draws", "content", "raw")
"""Which column a first difference names, where several differ in one row."""


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
    keys_a, keys_b = row_keys(a, b)
    alignment = align(keys_a, keys_b)
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
        **_unmatched(a, b, alignment, keys_a, keys_b),
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
        first_difference=_first_difference(a, b),
    )


def row_keys(a: StreamView, b: StreamView) -> tuple[Integers, Integers]:
    """Give each row a number that stands for its (epoch, record) in both views."""
    records = np.concatenate([a.record.values, b.record.values])
    epochs = np.concatenate([a.epoch, b.epoch])
    if not len(records):
        return records, records
    low, high = int(records.min()), int(records.max())
    first, last = int(epochs.min()), int(epochs.max())
    if (high - low + 1) * (last - first + 1) >= 2**62:
        records = np.unique(records, return_inverse=True)[1]
        epochs = np.unique(epochs, return_inverse=True)[1]
        low, high, first = 0, len(records) - 1, 0
    keys: Integers = (epochs - first) * (high - low + 1) + (records - low)
    return keys[: a.rows], keys[a.rows :]


def _differs(a: StreamView, b: StreamView, name: str, alignment: Alignment) -> Flags:
    left = a.compared[name].take(alignment.rows_a)
    return ~left.equals(b.compared[name].take(alignment.rows_b))


def _redrawn(a: StreamView, b: StreamView, alignment: Alignment) -> tuple[Flags, Flags]:
    """Tell which matched rows have other draws, and which of them not for their place alone.

    Draws that are equal place by place, where rows stand at other places, follow the
    place: that they differ for a record is a consequence of the order.
    """
    redrawn = np.zeros(len(alignment.rows_a), dtype=np.bool_)
    independent = redrawn.copy()
    shorter = slice(min(a.rows, b.rows))
    for name in a.compared:
        if not name.startswith("draws"):
            continue
        differs = _differs(a, b, name, alignment)
        redrawn |= differs
        left, right = a.compared[name].take(shorter), b.compared[name].take(shorter)
        if differs.any() and not left.equals(right).all():
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


def _first_difference(a: StreamView, b: StreamView) -> FirstDifference | None:
    shorter = min(a.rows, b.rows)
    rows = slice(shorter)
    differs = {
        "record": a.record.values[rows] != b.record.values[rows],
        "epoch": a.epoch[rows] != b.epoch[rows],
        "rank": a.rank[rows] != b.rank[rows],
    }
    for name, column in a.compared.items():
        if name == "batch":
            differs[name] = batch_starts(a)[rows] != batch_starts(b)[rows]
        else:
            differs[name] = ~column.take(rows).equals(b.compared[name].take(rows))
    firsts = {name: int(np.argmax(flags)) for name, flags in differs.items() if flags.any()}
    if not firsts:
        return None if a.rows == b.rows else _describe(a, b, shorter, "record")
    row = min(firsts.values())
    named = [name for name, first in firsts.items() if first == row]
    best = min(named, key=lambda name: (*PRECEDENCE, name).index(name))
    return _describe(a, b, row, best)


def _describe(a: StreamView, b: StreamView, row: int, name: str) -> FirstDifference:
    known = a if row < a.rows else b
    batch = known.compared["batch"].show(row) if "batch" in known.compared else None
    return FirstDifference(
        row=row,
        epoch=int(known.epoch[row]) if known.has("epoch") else None,
        batch=batch if isinstance(batch, int) else None,
        column=name,
        a=_show(a, row, name),
        b=_show(b, row, name),
    )


def _show(view: StreamView, row: int, name: str) -> JsonValue:
    if row >= view.rows:
        return None
    if name in {"epoch", "rank"}:
        return int(getattr(view, name)[row])
    return view.column(name).show(row)
