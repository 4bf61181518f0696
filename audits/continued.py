"""A run that goes on with another one, beside one that was not interrupted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.headers import goes_on
from detloader.audits.measures.restarts import (
    CERTAIN,
    first_place,
    is_joined,
    resume_position,
)

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.view import StreamView

__all__ = ["from_restart"]


def from_restart(a: StreamView, b: StreamView) -> tuple[StreamView, StreamView]:
    """Leave out what comes before the restart, of two runs of which one goes on there.

    It has to declare `resume`, and to begin with what the other run has from there on: of one that
    went on elsewhere, or that has the rows from before as well, all is compared. One that marks
    its first row, and does not declare where it goes on, does so where the other has these rows.
    """
    if goes_on(b.stream) and not goes_on(a.stream):
        return _without_beginning(a, b) or a, b
    if goes_on(a.stream) and not goes_on(b.stream):
        return a, _without_beginning(b, a) or b
    return a, b


def _without_beginning(whole: StreamView, resumed: StreamView) -> StreamView | None:
    """Give the rows from the restart on; None where the other run did not go on there."""
    parts, others = dict(whole.by_rank()), dict(resumed.by_rank())
    if not resumed.rows or parts.keys() != others.keys():
        return None
    kept: list[Integers] = []
    for rank, rows in others.items():
        one, other = whole.take(parts[rank]), resumed.take(rows)
        position = resume_position(one, other)
        if position is None:
            position = first_place(one, other)
        if position is None or not 0 < position < one.rows:
            return None
        begun = other.record.values[:CERTAIN]
        if is_joined(one, other, position) or not _agree(one.record.values[position:], begun):
            return None
        kept.append(parts[rank][position:])
    return whole.take(np.sort(np.concatenate(kept)))


def _agree(wanted: Integers, came: Integers) -> bool:
    """Tell whether one of two sequences begins with the other."""
    rows = min(len(wanted), len(came))
    return np.array_equal(wanted[:rows], came[:rows])
