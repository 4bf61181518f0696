"""The shortest chain of known loader operations that makes one order of another.

The search goes from the baseline outwards: it tries each operation that the target
suggests, looks where the wanted rows stand in its output, and asks again, until they
stand in plain order or in an order that a merge or a shuffle buffer leaves. Shorter
chains are tried first; what fits as well, at the same length, is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.alignment import match_occurrences
from detloader.audits.operations import proposals
from detloader.order.interleave import fitting_partition_counts

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.compare import Comparison

__all__ = ["Explanation", "explain"]

LONGEST = 2
"""Operations before the last one; with more, a chain would fit too much."""

LEAST_ROWS = 8
"""Rows of an epoch below which almost any order has some short explanation."""

MOST_ROWS = 1_000_000
"""Rows beyond which other epochs and sorted IDs are not tried: each needs a matching of its own."""

WIDEST_WINDOW = 8
"""A shuffle buffer explains an order if it holds at most one in so many of its rows."""

LEAST_SHARE = 0.9
"""Share of the other run's rows that must stand in the baseline at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How the other run's order follows from the baseline's.

    Attributes:
        formula: such as "b = merge(partition(a, 4))".
        explained_rows: rows of the other run that the formula puts where they are.
        rows: rows of the other run.
        ties: other formulas of the same length that explain as much.
    """

    formula: str
    explained_rows: int
    rows: int
    ties: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class _Chain:
    """Chains sort by length; of equal ones, those that leave no choice of order come first."""

    length: int
    loose: bool
    formula: str


def explain(comparison: Comparison) -> Explanation | None:
    """Explain the order of the other run by that of the baseline; None where no chain does."""
    found: list[_Chain] = []
    explained = 0
    for base, epochs in _bases(comparison):
        chains = _chains_of_all(base, epochs)
        if chains:
            explained = max(explained, sum(len(epoch.target) for epoch in epochs))
        found += chains
    if not found:
        return None
    # Sorting keeps the order of what is equal: worker counts stay ascending.
    found.sort(key=lambda chain: (chain.length, chain.loose))
    formulas = [f"b = {c.formula}" for c in found if c.length == found[0].length]
    return Explanation(
        formula=formulas[0],
        explained_rows=explained,
        rows=comparison.b.rows,
        ties=tuple(formulas[1:]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Epoch:
    """One epoch of the other run, as places in the order that it may have been made of.

    Attributes:
        target: int64, shape (matched,): places of its records, in its order.
        size: places of that order.
        rows: rows of the epoch, whether they stand in that order or not.
    """

    target: Integers
    size: int
    rows: int


def _bases(comparison: Comparison) -> Iterator[tuple[_Chain, list[_Epoch]]]:
    """Yield the orders that the other run may have been made of."""
    a, b = comparison.a, comparison.b
    yield _Chain(0, False, "a"), _aligned(comparison)
    if max(a.rows, b.rows) > MOST_ROWS:
        return
    orders = [a.record.values[rows] for _, rows in a.by_epoch()]
    wanted = [b.record.values[rows] for _, rows in b.by_epoch()]
    for shift in range(1, min(len(orders), 4)):
        yield _Chain(1, False, f"epochs(a, from {shift})"), _matched(orders[shift:], wanted)
    ids = np.sort(orders[0])
    by_text = ids[np.argsort(np.array([str(id_) for id_ in a.identify(ids)]))]
    if not np.array_equal(by_text, orders[0]):
        yield _Chain(1, False, "sort_as_text(a)"), _matched([by_text] * len(orders), wanted)


def _aligned(comparison: Comparison) -> list[_Epoch]:
    """Take the places from the rows that are matched already."""
    a, b, alignment = comparison.a, comparison.b, comparison.alignment
    place = np.empty(a.rows, np.int64)
    sizes = {}
    for epoch, rows in a.by_epoch():
        place[rows] = np.arange(len(rows))
        sizes[epoch] = len(rows)
    partner = np.full(b.rows, -1, np.int64)
    partner[alignment.rows_b] = place[alignment.rows_a]
    epochs = []
    for epoch, rows in b.by_epoch():
        target = partner[rows]
        epochs.append(_Epoch(target[target >= 0], sizes.get(epoch, 0), len(rows)))
    return epochs


def _matched(orders: list[Integers], wanted: list[Integers]) -> list[_Epoch]:
    if len(orders) < len(wanted):
        return []
    matches = [
        (match_occurrences(target, order)[1], len(order), len(target))
        for order, target in zip(orders, wanted, strict=False)
    ]
    return [_Epoch(*match) for match in matches]


def _chains_of_all(base: _Chain, epochs: list[_Epoch]) -> list[_Chain]:
    """Find the chains that explain every epoch."""
    common: dict[_Chain, None] | None = None
    for epoch in epochs:
        if epoch.rows < LEAST_ROWS or len(epoch.target) < LEAST_SHARE * epoch.rows:
            return []
        chains = _chains(base, epoch.target, epoch.size)
        common = {chain: None for chain in chains if common is None or chain in common}
        if not common:
            return []
    return list(common or ())


def _chains(done: _Chain, target: Integers, size: int) -> Iterator[_Chain]:
    """Yield the chains that bring `size` places, made by `done`, into the target's order."""
    yield from _last_steps(done, target, size)
    if done.length >= LONGEST:
        return
    for operation in proposals(target, size):
        places = operation.forth(target)
        if (places >= 0).all():
            step = _Chain(done.length + 1, False, operation.formula.format(done.formula))
            yield from _chains(step, places, operation.size)


def _last_steps(done: _Chain, target: Integers, size: int) -> Iterator[_Chain]:
    plain = np.arange(len(target))
    if len(target) == size and np.array_equal(target, plain):
        yield done
        return
    for count in fitting_partition_counts(target, size):
        if count < len(target):
            yield _Chain(done.length + 1, True, f"merge(partition({done.formula}, {count}))")
    window = int((target - plain).max()) + 1
    if len(target) == size and 1 < window <= size // WIDEST_WINDOW:
        yield _Chain(done.length + 1, True, f"window_shuffle({done.formula}, {window})")
