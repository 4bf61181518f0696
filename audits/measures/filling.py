"""Rows that fill up an epoch with the records that it began with, and are not marked as padding.

Ranks are evened out, and last batches made whole, by going round to the beginning. Such
records are neither drawn with replacement nor shared between parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.batches import place_in_epoch
from detloader.audits.integers import distinct
from detloader.audits.measures.source import without_padding

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.view import StreamView

__all__ = ["without_filling"]


def without_filling(view: StreamView) -> StreamView:
    """Leave out the rows that were added to even out ranks or to fill up batches."""
    rows = without_padding(view)
    epochs = [(of_epoch, _repeats(rows, of_epoch)) for _, of_epoch in rows.by_epoch()]
    filled = [(of_epoch, extra) for of_epoch, extra in epochs if 0 < 2 * extra < len(of_epoch)]
    if not filled:
        return rows
    kept = np.ones(rows.rows, dtype=np.bool_)
    place = place_in_epoch(rows)
    for of_epoch, extra in filled:
        kept[_filling(rows, place, of_epoch, extra)] = False
    return rows.take(kept)


def _repeats(view: StreamView, of_epoch: Integers) -> int:
    return len(of_epoch) - len(distinct(view.record.values[of_epoch]))


def _filling(view: StreamView, place: Integers, of_epoch: Integers, extra: int) -> Integers:
    """Give so many last rows of an epoch if they repeat its first ones; else none.

    The epoch may have been dealt out by whole batches, in turns, or in slices.
    """
    keys = place[of_epoch], view.rank[of_epoch]
    for order in (of_epoch, of_epoch[np.lexsort(keys[::-1])], of_epoch[np.lexsort(keys)]):
        record = view.record.values[order]
        if np.array_equal(record[-extra:], record[:extra]):
            return order[-extra:]
    return of_epoch[:0]
