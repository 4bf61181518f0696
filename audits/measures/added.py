"""Rows that a sampler adds to even out its ranks; they are no part of an order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.compare import compare
from detloader.audits.measures.source import without_padding

if TYPE_CHECKING:
    from collections.abc import Callable

    from detloader.audits.columns import Flags
    from detloader.audits.compare import Comparison
    from detloader.audits.view import StreamView

__all__ = ["without_added_rows", "without_marked_rows"]


def without_added_rows(comparison: Comparison) -> Comparison:
    """Compare two runs anew without the rows that even out ranks, where there are any."""
    return _anew(comparison, _without_added)


def without_marked_rows(comparison: Comparison) -> Comparison:
    """Compare two runs anew without the rows that are marked as padding, where there are any."""
    return _anew(comparison, without_padding)


def _anew(comparison: Comparison, part: Callable[[StreamView], StreamView]) -> Comparison:
    a, b = part(comparison.a), part(comparison.b)
    if a.rows == comparison.a.rows and b.rows == comparison.b.rows:
        return comparison
    return compare(a, b)


def _without_added(view: StreamView) -> StreamView:
    rows = without_padding(view)
    if rows.ranks == 1 or rows.rows < view.rows or view.has("asked"):
        return rows  # where it is known what was asked for, what comes again is a substitute
    repeated = _repeated(rows)
    added = np.bincount(rows.epoch[repeated] - rows.epoch.min(initial=0))
    return rows.take(~repeated) if added.max(initial=0) < rows.ranks else rows


def _repeated(view: StreamView) -> Flags:
    """Tell which rows have a record that came before in the epoch."""
    order = np.lexsort((view.record.values, view.epoch))
    record, epoch = view.record.values[order], view.epoch[order]
    repeated = np.zeros(view.rows, dtype=np.bool_)
    repeated[order[1:]] = (np.diff(record) == 0) & (np.diff(epoch) == 0)
    return repeated
