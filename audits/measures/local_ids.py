"""Whether ranks give the same IDs to other records, as where each counts its own part from 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import contains

if TYPE_CHECKING:
    from detloader.audits.columns import Flags, Integers
    from detloader.audits.view import StreamView

__all__ = ["SHARED_IDS", "are_local"]

SHARED_IDS = "record IDs that mean the same on every rank"
"""What a rule lacks where they do not."""


def are_local(view: StreamView, shared: Integers) -> bool:
    """Tell whether records that several ranks deliver have other content on each of them.

    Content that changes with draws, or on one rank from epoch to epoch, tells nothing.

    Args:
        view: rows of all ranks.
        shared: codes of records that several ranks deliver in an epoch.
    """
    if not view.has("content"):
        return False
    rows = np.flatnonzero(contains(shared, view.record.values))
    between = _unlike(view, rows, view.epoch, view.rank)
    if not len(between) or not between.all():
        return False
    if view.has("draws") and not view.column("draws").missing().all():
        return True
    return not _unlike(view, rows, view.rank, view.epoch).any()


def _unlike(view: StreamView, rows: Integers, same: Integers, other: Integers) -> Flags:
    """Compare the content of rows that are the same but for one thing, each with the next.

    Rows whose draws differ are not compared.
    """
    record = view.record.values
    order = rows[np.lexsort((other[rows], same[rows], record[rows]))]
    left, right = order[:-1], order[1:]
    pairs = (record[left] == record[right]) & (same[left] == same[right])
    pairs &= other[left] != other[right]
    if view.has("draws"):
        draws = view.column("draws")
        pairs &= draws.take(left).equals(draws.take(right))
    content = view.column("content")
    unlike: Flags = ~content.take(left[pairs]).equals(content.take(right[pairs]))
    return unlike
