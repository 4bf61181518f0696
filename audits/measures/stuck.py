"""A shuffle that is never told the epoch, shown by a run in which it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import are_distinct

if TYPE_CHECKING:
    from detloader.audits.view import StreamView

__all__ = ["stuck_at"]


def stuck_at(view: StreamView, other: StreamView) -> int | None:
    """Tell whose epoch of the other run all epochs of a run have the order of.

    Returns:
        None where epochs differ, where the other run's do not all differ, or where none of these
        has that order, which is then no order of that shuffle.
    """
    orders = [view.record.values[rows] for rows in view.epochs.values()]
    others = {epoch: other.record.values[rows] for epoch, rows in other.epochs.items()}
    if min(len(orders), len(others)) < 2 or not are_distinct(orders[0]):  # noqa: PLR2004
        return None
    if any(not np.array_equal(order, orders[0]) for order in orders):
        return None
    if len({order.tobytes() for order in others.values()}) < len(others):
        return None
    records = np.sort(orders[0])
    if any(not np.array_equal(np.sort(order), records) for order in others.values()):
        return None
    alike = (epoch for epoch, order in others.items() if np.array_equal(order, orders[0]))
    return next(alike, None)
