"""Runs that differ in how workers take turns, and in no shuffle."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import ascends
from detloader.audits.measures.deliverers import deliverers_of
from detloader.audits.measures.statistics import is_impossible

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.compare import Comparison
    from detloader.audits.view import StreamView

__all__ = ["keeps_order_of_parts", "order_of_workers"]


def keeps_order_of_parts(comparison: Comparison) -> bool:
    """Tell whether each worker of one run has the other run's order, which no other seed leaves."""
    return order_of_workers(comparison) is not None


def order_of_workers(comparison: Comparison) -> tuple[int, float] | None:
    """Count the workers of one run, where each has the other run's order.

    Returns:
        How many they are, and the logarithm of the chance that a shuffle leaves them so; None
        where some worker has another order, or chance may have left it.
    """
    alignment = comparison.alignment
    one, other = (comparison.a, alignment.rows_a), (comparison.b, alignment.rows_b)
    return _follow(*one, alignment.rows_b) or _follow(*other, alignment.rows_a)


def _follow(view: StreamView, rows: Integers, places: Integers) -> tuple[int, float] | None:
    """Count the workers, where the rows of each of several stand in the order of those places."""
    if not view.has("worker") or len(rows) < view.rows:
        return None
    place = np.empty(view.rows, np.int64)
    place[rows] = places
    parts = [place[mine] for _, mine in deliverers_of(view).split(view, view.delivery_order())]
    log_chance = -sum(math.lgamma(len(part) + 1) for part in parts)
    if len(parts) < 2 or not all(map(ascends, parts)):  # noqa: PLR2004
        return None
    return (len(parts), log_chance) if is_impossible(log_chance) else None
