"""Rows that fill up an epoch with the records that it began with, and are not marked as padding.

Ranks are evened out, and last batches made whole, by going round to the beginning. Such
records are neither drawn with replacement nor shared between parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.batches import place_in_epoch
from detloader.audits.integers import distinct, places_from_end, tally
from detloader.audits.measures.source import without_padding
from detloader.audits.rule import CannotTell

if TYPE_CHECKING:
    from detloader.audits.columns import Flags, Integers
    from detloader.audits.view import StreamView

__all__ = ["evens_out", "records_lacking", "without_filling"]


def without_filling(view: StreamView) -> StreamView:
    """Leave out the rows that were added to even out ranks or to fill up batches."""
    rows = without_padding(view)
    # What came instead of a record that was asked for leaves none out.
    epochs = [(of_epoch, _repeats(rows, of_epoch)) for _, of_epoch in rows.by_epoch()]
    filled = [
        (of_epoch, extra)
        for of_epoch, extra in epochs
        if 0 < 2 * extra < len(of_epoch) and not records_lacking(rows, rows.asked[of_epoch])
    ]
    if not filled:
        return rows
    kept = np.ones(rows.rows, dtype=np.bool_)
    place = place_in_epoch(rows)
    for of_epoch, extra in filled:
        kept[_filling(rows, place, of_epoch, extra)] = False
    return rows.take(kept)


def _repeats(view: StreamView, of_epoch: Integers) -> int:
    return len(of_epoch) - len(distinct(view.asked[of_epoch]))


def _filling(view: StreamView, place: Integers, of_epoch: Integers, extra: int) -> Integers:
    """Give so many last rows of an epoch if they repeat its first ones; else none.

    The epoch may have been dealt out by whole batches, in turns, or in slices.
    """
    keys = place[of_epoch], view.rank[of_epoch]
    for order in (of_epoch, of_epoch[np.lexsort(keys[::-1])], of_epoch[np.lexsort(keys)]):
        asked = view.asked[order]
        if np.array_equal(asked[-extra:], asked[:extra]):
            return order[-extra:]
    return of_epoch[:0]


def records_lacking(view: StreamView, record: Integers) -> int:
    """Count the records that an epoch is known to lack; one that lacks any does not begin anew.

    Args:
        view: the run.
        record: shape (rows,), int64; what its ranks delivered in the epoch.
    """
    size = _records_of_epoch(view)
    return 0 if size is None else max(size - len(distinct(record)), 0)


def evens_out(view: StreamView, rows: Integers, record: Integers) -> bool:
    """Tell whether records come again to make the ranks of an epoch as long as each other.

    Each rank is given one row at most, as its last one.

    Args:
        view: the run.
        rows: shape (rows,), int64; those of the epoch, rank by rank in delivery order.
        record: shape (rows,), int64; their records.

    Raises:
        CannotTell: which of the workers of a rank came last is unknown.
    """
    records, times = tally(record)
    extra, ranks = len(rows) - len(records), len(distinct(view.rank[rows]))
    if len(records) == _records_of_epoch(view) and extra > -len(records) % ranks:
        return False
    ends, at_end = tally(record[_ends(view, rows)])
    last = np.zeros(len(records), np.int64)
    last[np.searchsorted(records, ends)] = at_end
    if (last >= times - 1).all():
        return True
    if view.declared("workers") is None and not view.has("worker"):
        raise CannotTell("worker")
    return False


def _ends(view: StreamView, rows: Integers) -> Flags:
    """Tell which rows may be the last that their rank was dealt.

    Where a worker's own rows are unknown, its last one is among the last batches of all.
    """
    part, last = view.rank[rows], 1
    if view.has("worker"):
        part = part * (1 << 32) + view.column("worker").values[rows].astype(np.int64)
    else:
        workers = view.declared("workers") or 1
        last = (view.declared("batch_size") or 1) * workers if workers > 1 else 1
    return places_from_end(part) < last


def _records_of_epoch(view: StreamView) -> int | None:
    """Give how many records each epoch is declared to have; None where that is unknown."""
    size, samples = view.declared("source_size"), view.declared("num_samples")
    if size is None or view.filters or view.has("split") or samples not in {None, size}:
        return None
    return int(size)
