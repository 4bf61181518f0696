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

__all__ = ["keeps_order_of_parts"]


def keeps_order_of_parts(comparison: Comparison) -> bool:
    """Tell whether each worker of one run has the other run's order, which no other seed leaves."""
    alignment = comparison.alignment
    one, other = (comparison.a, alignment.rows_a), (comparison.b, alignment.rows_b)
    return _follows(*one, alignment.rows_b) or _follows(*other, alignment.rows_a)


def _follows(view: StreamView, rows: Integers, places: Integers) -> bool:
    """Tell whether the rows of each of several workers stand in the order of those places."""
    if not view.has("worker") or len(rows) < view.rows:
        return False
    place = np.empty(view.rows, np.int64)
    place[rows] = places
    parts = [place[mine] for _, mine in deliverers_of(view).split(view, view.delivery_order())]
    log_chance = -sum(math.lgamma(len(part) + 1) for part in parts)
    return len(parts) > 1 and all(map(ascends, parts)) and is_impossible(log_chance)
