"""Draws that each reader takes in the same order in two runs, on earlier or later records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import ascends, repeated
from detloader.audits.measures.deliverers import deliverers_of
from detloader.audits.measures.draws import draw_columns
from detloader.audits.measures.statistics import is_impossible
from detloader.audits.verdict import same_sequence

if TYPE_CHECKING:
    from detloader.audits.columns import Column, Integers
    from detloader.audits.compare import Comparison

__all__ = ["Shift", "find_shift", "keep_order"]

LEAST_SHARE = 0.25
"""Share of the rows with other draws that have the baseline's of another record: fewer do not
explain the others."""


@dataclass(frozen=True, slots=True)
class Shift:
    """Draws that are the baseline's, in their order, on other records.

    Attributes:
        column: whose draws they are.
        row: the first row of the other run that has other draws.
        redrawn: rows with other draws.
        shifted: how many of these have the baseline's draws of another record.
        by: by how many records of its reader the first of these is ahead; below 0 it is behind.
        largest: the most by which any of them is ahead or behind.
    """

    column: str
    row: int
    redrawn: int
    shifted: int
    by: int
    largest: int


@dataclass(frozen=True, slots=True)
class _Order:
    """Rows of two runs that have the same records in the same order, one reader after another.

    Attributes:
        rows: of the baseline, and of the other run.
        readers: who took them, by number.
    """

    rows: tuple[Integers, Integers]
    readers: tuple[Integers, Integers]

    def draws(self, comparison: Comparison, name: str) -> _Taken:
        """Give the draws of one column in this order."""
        a, b = (
            view.compared[name].take(rows)
            for view, rows in zip((comparison.a, comparison.b), self.rows, strict=True)
        )
        return _Taken(name=name, columns=(a, b), readers=self.readers, rows=self.rows[1])


@dataclass(frozen=True, slots=True)
class _Taken:
    """Draws of two runs that have the same records in the same order, one reader after another.

    Attributes:
        name: that of the column.
        columns: of the baseline, and of the other run.
        readers: who took them, by number.
        rows: the other run's.
    """

    name: str
    columns: tuple[Column, Column]
    readers: tuple[Integers, Integers]
    rows: Integers

    def in_both(self) -> tuple[Integers, Integers]:
        """Give the places in each of the draws that both have, and have once."""
        places_a, places_b = map(_places_of_single, self.columns)
        left, right = (column.values for column in self.columns)
        _, in_a, in_b = np.intersect1d(
            left[places_a], right[places_b], assume_unique=True, return_indices=True
        )
        found_a, found_b = places_a[in_a], places_b[in_b]
        order = np.argsort(found_a)
        return found_a[order], found_b[order]

    def is_kept(self, places_a: Integers, places_b: Integers) -> bool:
        """Tell whether each reader took them in one order, and none took another one's."""
        left, right = self.readers
        return ascends(places_b) and np.array_equal(left[places_a], right[places_b])


def keep_order(comparison: Comparison) -> bool:
    """Tell whether no reader took draws that another one took, or earlier ones after later ones."""
    order = _order_of(comparison)
    if order is None:
        return False
    taken = order.draws(comparison, "draws")
    return taken.is_kept(*taken.in_both())


def find_shift(comparison: Comparison) -> Shift | None:
    """Find readers that go on with the draws of the baseline, earlier or later than it does."""
    order = _order_of(comparison) if comparison.redrawn.any() else None
    if order is None:
        return None
    names = draw_columns(comparison.a)
    shifts = (_shift_of(order.draws(comparison, name)) for name in names)
    return next((shift for shift in shifts if shift is not None), None)


def _order_of(comparison: Comparison) -> _Order | None:
    """Give the order in which both have their records; None where it is not the same."""
    a, b = comparison.a, comparison.b
    orders = same_sequence(a, b, ())
    if orders is None:
        return None
    readers = [
        deliverers_of(view).of_row[order] for view, order in zip((a, b), orders, strict=True)
    ]
    by_reader = np.argsort(readers[0], kind="stable")
    return _Order(
        rows=(orders[0][by_reader], orders[1][by_reader]),
        readers=(readers[0][by_reader], readers[1][by_reader]),
    )


def _shift_of(taken: _Taken) -> Shift | None:
    left, right = taken.columns
    others = np.flatnonzero(~left.equals(right))
    places_a, places_b = taken.in_both()
    ahead = places_a - places_b
    moved = np.flatnonzero(ahead)
    if len(moved) < LEAST_SHARE * len(others) or not taken.is_kept(places_a, places_b):
        return None
    if not is_impossible(-math.lgamma(len(moved) + 1)):
        return None
    first = others[np.argmin(taken.rows[others])]
    if not first or taken.readers[1][first - 1] != taken.readers[1][first]:
        return None  # nothing tells that the reader's draws were the same before
    return Shift(
        column=taken.name,
        row=int(taken.rows[first]),
        redrawn=len(others),
        shifted=len(moved),
        by=int(ahead[moved[0]]),
        largest=int(np.abs(ahead).max()),
    )


def _places_of_single(column: Column) -> Integers:
    places = np.flatnonzero(~column.missing())
    return places[~repeated(column.values[places])]
