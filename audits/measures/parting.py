"""Where two runs, whose first epochs are equal, part for good."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import contains
from detloader.audits.measures.delivery import is_local
from detloader.audits.measures.statistics import is_impossible
from detloader.audits.rule import CannotTell

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.compare import Comparison

__all__ = ["Parting", "find_parting"]

SHARED = 0.5
"""Share of draws that stay in an epoch above which these were exchanged, not drawn anew."""


@dataclass(frozen=True, slots=True)
class Parting:
    """Where two runs part.

    Attributes:
        first: the first epoch that differs.
        equal: how many epochs before it are equal.
        epochs: the epochs that differ.
        what: "order" or "draws".
        offset: epochs by which the other run is ahead; None where no offset fits.
    """

    first: int
    equal: int
    epochs: list[int]
    what: str
    offset: int | None


def find_parting(comparison: Comparison) -> Parting | None:
    """Find the epoch from which on two runs part for good.

    Raises:
        CannotTell: they do not share two epochs.
    """
    rows_a, rows_b = comparison.a.epochs, comparison.b.epochs
    epochs = sorted(rows_a.keys() & rows_b.keys())
    if len(epochs) < 2:  # noqa: PLR2004
        raise CannotTell("at least 2 epochs")
    orders_a = {epoch: comparison.a.record.values[rows_a[epoch]] for epoch in epochs}
    orders_b = {epoch: comparison.b.record.values[rows_b[epoch]] for epoch in epochs}
    moved = [epoch for epoch in epochs if not np.array_equal(orders_a[epoch], orders_b[epoch])]
    if moved:
        return _part_in_order(orders_a, orders_b, epochs, moved)
    redrawn = [
        epoch for epoch in epochs if not _same_draws(comparison, rows_a[epoch], rows_b[epoch])
    ]
    if not _is_for_good(epochs, redrawn):
        return None
    if any(_exchanged(comparison, rows_a[epoch], rows_b[epoch]) for epoch in redrawn):
        return None
    return Parting(redrawn[0], epochs.index(redrawn[0]), redrawn, "draws", None)


def _is_for_good(epochs: list[int], different: list[int]) -> bool:
    """Tell whether the first epochs are equal, and none after the first that differs."""
    return 0 < len(different) < len(epochs) and epochs[-len(different) :] == different


def _part_in_order(
    orders_a: dict[int, Integers],
    orders_b: dict[int, Integers],
    epochs: list[int],
    moved: list[int],
) -> Parting | None:
    offset = _find_offset(orders_a, orders_b, moved)
    equal = epochs.index(moved[0])
    if offset is None and not _is_for_good(epochs, moved):
        return None
    if not all(_is_reshuffled(orders_a[epoch], orders_b[epoch]) for epoch in moved):
        return None
    return Parting(moved[0], equal, moved, "order", offset)


def _find_offset(
    orders_a: dict[int, Integers], orders_b: dict[int, Integers], moved: list[int]
) -> int | None:
    """Find how many epochs the other run is ahead, from the first epoch that differs on."""
    reach = len(orders_a)
    for shift in sorted(range(1 - reach, reach), key=lambda shift: (abs(shift), -shift)):
        pairs = [
            (orders_a[epoch + shift], orders_b[epoch])
            for epoch in moved
            if epoch + shift in orders_a
        ]
        if not shift or not pairs or not all(np.array_equal(*pair) for pair in pairs):
            continue
        log_chance = -sum(math.lgamma(len(order) + 1) for order, _ in pairs)
        if is_impossible(log_chance, tests=2 * reach):
            return shift
    return None


def _is_reshuffled(order_a: Integers, order_b: Integers) -> bool:
    """Tell whether an epoch has the same records, shuffled otherwise and not merely displaced."""
    sorted_a, sorted_b = np.argsort(order_a, kind="stable"), np.argsort(order_b, kind="stable")
    if not np.array_equal(order_a[sorted_a], order_b[sorted_b]):
        return False
    places = np.empty(len(order_a), np.int64)
    places[sorted_a] = sorted_b
    return not is_local(places)


def _same_draws(comparison: Comparison, rows_a: slice | Integers, rows_b: slice | Integers) -> bool:
    return all(
        column.take(rows_a).equals(comparison.b.compared[name].take(rows_b)).all()
        for name, column in comparison.a.compared.items()
        if name.startswith("draws")
    )


def _exchanged(comparison: Comparison, rows_a: slice | Integers, rows_b: slice | Integers) -> bool:
    """Tell whether most draws of an epoch are the same ones, on other records."""
    if "draws" not in comparison.a.compared:
        return False
    draws_a = comparison.a.compared["draws"].values[rows_a]
    draws_b = comparison.b.compared["draws"].values[rows_b]
    return bool(contains(draws_a, draws_b).mean() > SHARED)
