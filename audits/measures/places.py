"""Which record stands at which place of the source, in two runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import are_distinct, contains, places
from detloader.audits.measures.conditions import topology_differences
from detloader.audits.measures.delivery import find_delivery, has_same_records
from detloader.audits.measures.enumeration import (
    MOST_SORTED,
    hash_seeds,
    machines,
    sort_both_ways,
    sorting_between,
)
from detloader.audits.measures.plain_orders import plain_change
from detloader.audits.measures.statistics import is_impossible
from detloader.audits.rule import CannotTell
from detloader.audits.turns import formula_of_turns

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.compare import Comparison
    from detloader.audits.measures.enumeration import Names
    from detloader.audits.view import StreamView

__all__ = ["Orders", "find_orders", "kind_of_change"]


FEW = 64
"""Rows of a second epoch that are looked at first."""


@dataclass(frozen=True, eq=False, slots=True)
class Orders:
    """Two enumerations of one source, side by side.

    Attributes:
        how: as the evidence says.
        places: shape (records,), int64; indices, or places in the epoch, ascending.
        a: shape (records,), int64; the record at each place.
        b: shape (records,), int64; that of the other run.
        kind: what could have changed the order, where that is known already.
    """

    how: str
    places: Integers
    a: Integers
    b: Integers
    kind: str | None = None


def find_orders(comparison: Comparison, names: Names) -> Orders | None:
    """Put the records that stand at the same places of the source side by side.

    Raises:
        CannotTell: the order differs, and nothing tells whether the source's does.
    """
    a, b = comparison.a, comparison.b
    if a.has("index") and b.has("index"):
        return _by_index(a, b, names)
    unshuffled = a.declared("shuffle") is False and b.declared("shuffle") is False
    if not (has_same_records(comparison) or names.relative) or a.rows != b.rows:
        return _by_cut_sorting(comparison, names) if unshuffled else None
    if unshuffled:
        return _by_enumeration(comparison, names)
    return _by_renaming(a, names)


def _by_index(a: StreamView, b: StreamView, names: Names) -> Orders | None:
    """Put the records of the same index side by side."""
    index_a, index_b = a.column("index").values, b.column("index").values
    if a.column("index").vocabulary is not None or b.column("index").vocabulary is not None:
        raise CannotTell("index, as numbers")
    at_a, at_b = _mapping(index_a, names.a), _mapping(index_b, names.b)
    if at_a is None or at_b is None:
        return None
    places, first, second = np.intersect1d(
        at_a[0], at_b[0], assume_unique=True, return_indices=True
    )
    orders = Orders("indices", places, at_a[1][first], at_b[1][second])
    if not (are_distinct(orders.a) and are_distinct(orders.b)):
        return None  # a record in the place of another: no enumeration
    whole = len(places) == len(at_a[0]) == len(at_b[0]) and _is_whole(a, b, places)
    same_records = np.array_equal(np.sort(orders.a), np.sort(orders.b))
    if whole:
        return orders if same_records else None  # else records came or went
    elsewhere = orders.a != orders.b
    return orders if np.isin(orders.a[elsewhere], at_b[1]).any() else None


def _is_whole(a: StreamView, b: StreamView, places: Integers) -> bool:
    sizes = {view.declared("source_size") for view in (a, b)} - {None}
    return sizes == {len(places)} if sizes else int(places[-1]) < len(places)


def _mapping(keys: Integers, values: Integers) -> tuple[Integers, Integers] | None:
    """Give each key once, ascending, with its value; None where one key has several."""
    unique, firsts, back = np.unique(keys, return_index=True, return_inverse=True)
    return (unique, values[firsts]) if (values[firsts][back] == values).all() else None


def _by_renaming(a: StreamView, names: Names) -> Orders | None:
    """Put the records of the same row side by side, if that renames each in all epochs alike.

    Several epochs of different order then show that both runs ask for the same indices.
    """
    epochs = [*a.epochs.values()][:2]
    if len(epochs) < 2:  # noqa: PLR2004
        raise CannotTell("index")
    (first_a, second_a), (first_b, second_b) = (
        [of_run[rows] for rows in epochs] for of_run in (names.a, names.b)
    )
    if len(first_a) != len(second_a):
        return None
    # A few rows of the second epoch tell most runs apart without sorting all of them.
    known = contains(second_a[:FEW], first_a)
    if _mapping(
        np.concatenate([first_a[known], second_a[:FEW]]),
        np.concatenate([first_b[known], second_b[:FEW]]),
    ) is None or np.array_equal(first_a, second_a):
        return None
    mapping, back = _mapping(names.a, names.b), _mapping(names.b, names.a)
    if mapping is None or back is None or not is_impossible(-math.lgamma(len(first_a) + 1)):
        return None
    return Orders("renaming", np.arange(len(mapping[0])), *mapping)


def _by_enumeration(comparison: Comparison, names: Names) -> Orders | None:
    a, b = comparison.a, comparison.b
    if topology_differences(a.stream, b.stream):
        return None
    epochs_a, epochs_b = [list(view.by_epoch()) for view in (a, b)]
    order_a, order_b = names.a[epochs_a[0][1]], names.b[epochs_b[0][1]]
    if not are_distinct(order_a) or len(order_a) != len(order_b):
        return None
    if not (_is_steady(epochs_a, names.a) and _is_steady(epochs_b, names.b)):
        return None
    orders = Orders("enumeration", np.arange(len(order_a)), order_a, order_b)
    if _sorting(orders, names) is None:
        if not names.relative and find_delivery(comparison) is not None:
            return None
        if formula_of_turns(places(order_a, order_b), len(order_a)):
            return None  # as workers take turns, and no hash or listing does
        if kind_of_change(comparison, names, orders) == "unknown":
            raise CannotTell("index, or PYTHONHASHSEED and platform of both runs")
    return orders


def _by_cut_sorting(comparison: Comparison, names: Names) -> Orders | None:
    """Do the same for one epoch whose end is lost, where it is sorted in another way."""
    order_a, order_b = names.a, names.b
    records = order_a if len(order_a) > len(order_b) else order_b
    kept = min(len(order_a), len(order_b))
    if not 1 < kept <= len(records) <= MOST_SORTED or not are_distinct(records):
        return None
    if topology_differences(comparison.a.stream, comparison.b.stream):
        return None
    by_text, by_number = (order[:kept] for order in sort_both_ways(names, records))
    begun = order_a[:kept], order_b[:kept]
    for sortings in ((by_text, by_number), (by_number, by_text)):
        if all(map(np.array_equal, begun, sortings)):
            return Orders("enumeration", np.arange(kept), *begun, kind="text-sort")
    return None


def _is_steady(epochs: list[tuple[int, Integers]], records: Integers) -> bool:
    """Tell whether all epochs have one order; the last may be cut short."""
    first = records[epochs[0][1]]
    return all(np.array_equal(records[rows], first[: len(rows)]) for _, rows in epochs)


def _sorting(orders: Orders, names: Names) -> str | None:
    by_name = np.argsort(orders.a)
    first, second = orders.a[by_name], orders.b[by_name]
    return sorting_between(lambda wanted: second[np.searchsorted(first, wanted)], names, first)


def kind_of_change(comparison: Comparison, names: Names, orders: Orders) -> str:
    """Tell what could have changed an enumeration, in the words of the rule's evidence."""
    a, b = comparison.a.stream, comparison.b.stream
    sorting = orders.kind or _sorting(orders, names)
    if sorting is not None:
        return sorting
    plain = _plain_change(orders)
    if plain in {"reverse", "rotation"}:
        return plain
    if machines(a, b) is not None:
        return "listing"
    if names.texts is not None and hash_seeds(a, b) is not None and plain is None:
        return "sorted" if _is_one_sorted(orders, names) else "hash-order"
    return "unknown" if orders.how == "enumeration" else "listing"


def _is_one_sorted(orders: Orders, names: Names) -> bool:
    """Tell whether one run has its records by their names, whatever the order of the other is."""
    if orders.how == "renaming" or len(orders.a) > MOST_SORTED:
        return False
    sides = orders.a, orders.b
    return any(
        np.array_equal(side, by_name) for side in sides for by_name in sort_both_ways(names, side)
    )


def _plain_change(orders: Orders) -> str | None:
    """Tell how one enumeration is made of the other; None where it may be any, or nobody knows."""
    if orders.how == "renaming" or not np.array_equal(np.sort(orders.a), np.sort(orders.b)):
        return None  # the place of each record is unknown, or some records are
    return plain_change(orders.a, orders.b)
