"""Orders that are made of another one more plainly than a hash would make them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import places
from detloader.audits.measures.statistics import PLAUSIBLE

if TYPE_CHECKING:
    from detloader.audits.columns import Integers

__all__ = ["plain_change"]


def plain_change(a: Integers, b: Integers) -> str | None:
    """Tell how one order is made of the blocks that both have: of shards, or of single records.

    Args:
        a: int64, shape (records,): distinct records.
        b: int64, shape (records,): the same in another order.

    Returns:
        "reverse"; "rotation"; "sorting" of blocks that are few ascending or descending parts, by
        a class of theirs, say, or were; None for an order that may be any.
    """
    order = _order_of_blocks(places(a, b))
    if len(order) < 2:  # noqa: PLR2004
        return None
    if len(order) == 2:  # noqa: PLR2004
        return "rotation"
    if (np.diff(order) < 0).all():
        return "reverse"
    return "sorting" if _log_chance_of_parts(order) < math.log(PLAUSIBLE) else None


def _order_of_blocks(place: Integers) -> Integers:
    """Give for each block of rows that follow each other in both orders its place among all."""
    starts = np.flatnonzero(np.diff(place, prepend=-2) != 1)
    return np.argsort(np.argsort(place[starts]))


def _log_chance_of_parts(order: Integers) -> float:
    """Give the logarithm of a bound on the chance of an order of so few monotonous parts."""
    size = len(order)
    inverse = np.argsort(order)
    ascents = [int((np.diff(each) > 0).sum()) for each in (order, inverse)]
    parts = 1 + min(min(count, size - 1 - count) for count in ascents)
    # Each record is in one of the parts: four ways to look for them.
    return math.log(4) + size * math.log(parts) - math.lgamma(size + 1)
