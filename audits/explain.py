"""The shortest chain of known loader operations that makes one order of another.

The search goes from the baseline outwards: it tries each operation that the target
suggests, looks where the wanted rows stand in its output, and asks again, until they
stand in plain order, or in one that workers in turn, a merge or a shuffle buffer leave. The
shortest chain is told, of equal ones the one that leaves the fewest orders, and what fits as
well at that length. Parts so many and short that chance would fit them explain nothing. Not
found: a rotation before a merge that drops a remainder, for that leaves a hole in the middle.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.alignment import match_occurrences
from detloader.audits.dealt import dealt_formula
from detloader.audits.increasing import longest_increasing
from detloader.audits.integers import slices
from detloader.audits.operations import proposals
from detloader.audits.turns import formula_of_turns
from detloader.order.interleave import fitting_partition_counts

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.compare import Comparison
    from detloader.findings import JsonValue

__all__ = ["Explanation", "explain"]

LONGEST = 2
"""Operations before the last one; with more, a chain would fit too much."""

LEAST_ROWS = 8
"""Rows of an epoch below which almost any order has some short explanation."""

MOST_ROWS = 1_000_000
"""Rows beyond which other epochs, repeats and sorted IDs are not tried, for each needs a matching
of its own, nor is anything where a sample is as good as random."""

SHOWN = 3
"""Ties that a sentence names."""

MOST_EPOCHS = 4
"""Epochs of the baseline that are tried in the place of others."""

WIDEST_WINDOW = 8
"""A shuffle buffer explains an order if it holds at most one in so many of its rows."""

HEAD = 4096
"""Rows that are looked at before all are: they rule most chains out."""

UNLIKELY = 1e-6
"""Chance that a random order is a merge of so many parts, below which that explains an order."""

LEAST_SHARE = 0.9
"""Share of the other run's rows that must stand in the baseline at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How the other run's order follows from the baseline's.

    Attributes:
        formula: such as "b = merge(partition(a, 4))".
        explained_rows: rows of the other run that the formula puts where they are.
        rows: rows of the other run.
        ties: other formulas of the same length that leave as little choice of order.
    """

    formula: str
    explained_rows: int
    rows: int
    ties: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """Say what is explained, and what else would explain it."""
        rows = (
            f"all {self.rows}"
            if self.explained_rows == self.rows
            else (f"{self.explained_rows} of {self.rows}")
        )
        more = f" or {len(self.ties) - SHOWN} more" if len(self.ties) > SHOWN else ""
        others = f" ({' or '.join(self.ties[:SHOWN])}{more} would do as well)" if self.ties else ""
        return f"{self.formula} explains {rows} rows{others}"

    @property
    def evidence(self) -> dict[str, JsonValue]:
        """Give it as the evidence of a finding."""
        return {
            "formula": self.formula,
            "explained_rows": self.explained_rows,
            "rows": self.rows,
            "ties": [*self.ties],
        }


@dataclass(frozen=True, slots=True)
class _Chain:
    """A chain of operations.

    Attributes:
        length: how many they are.
        loose: whether the last one leaves a choice of order.
        formula: how it is written.
        log_orders: logarithm of the number of orders that it leaves; other epochs leave others.
    """

    length: int
    loose: bool
    formula: str
    log_orders: float = field(default=0.0, compare=False)


def explain(comparison: Comparison) -> Explanation | None:
    """Explain the order of the other run by that of the baseline; None where no chain does."""
    if _is_hopeless(comparison):
        return None
    dealt = dealt_formula(comparison.a, comparison.b, comparison.alignment)
    found = [] if dealt is None else [_Chain(1, False, dealt)]
    explained = comparison.b.rows if dealt else 0
    for base, epochs in _bases(comparison):
        chains = _chains_of_all(base, epochs)
        if chains:
            explained = max(explained, sum(len(epoch.target) for epoch in epochs))
        found += chains
    if not found or _Chain(0, False, "a") in found:
        return None  # an order that stayed as it was needs no explanation
    found.sort(key=lambda chain: (chain.length, chain.loose, chain.log_orders))
    best = found[0].length, found[0].loose
    formulas = [f"b = {c.formula}" for c in found if (c.length, c.loose) == best]
    return Explanation(
        formula=formulas[0],
        explained_rows=explained,
        rows=comparison.b.rows,
        ties=tuple(formulas[1:]),
    )


def _is_hopeless(comparison: Comparison) -> bool:
    """Tell whether no row is there, or by a sample that many are in an order that no chain leaves.

    A random order of n rows has 2 sqrt(n) of them in ascending order, and as many in
    descending order. Merges of a few parts, shards, shifts and shuffle buffers have far more.
    """
    a, rows_a, rows_b = comparison.a, comparison.alignment.rows_a, comparison.alignment.rows_b
    if len(rows_b) <= MOST_ROWS:
        return not len(rows_b)
    end = int(np.argmax(a.epoch != a.epoch[0])) or a.rows
    first = rows_b[: np.searchsorted(rows_a, end)]
    sample = first[:: max(len(first) // HEAD, 1)]
    in_order = max(longest_increasing(sample), longest_increasing(sample[::-1]))
    return bool(in_order < 3 * np.sqrt(len(sample)))


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
    orders = [a.record.values[rows] for rows in a.epochs.values()]
    wanted = [b.record.values[rows] for rows in b.epochs.values()]
    times = -(-len(wanted[0]) // len(orders[0]))
    if times > 1:
        repeated = [np.tile(order, times) for order in orders]
        yield _Chain(1, False, f"repeat(a, {times})"), _matched(repeated, wanted)
    for shift in range(1, min(len(orders), MOST_EPOCHS)):
        yield _Chain(1, False, f"epochs(a, from {shift})"), _matched(orders[shift:], wanted)
    if len(wanted) > 1:
        for number, order in enumerate(orders[:MOST_EPOCHS]):
            same = [order] * len(wanted)
            yield _Chain(1, False, f"epoch(a, {number})"), _matched(same, wanted)
    ids = np.sort(orders[0])
    by_text = ids[np.argsort(np.array([str(id_) for id_ in a.identify(ids)]))]
    if not np.array_equal(by_text, orders[0]):
        yield _Chain(1, False, "sort_as_text(a)"), _matched([by_text] * len(orders), wanted)


def _aligned(comparison: Comparison) -> list[_Epoch]:
    """Take the places from the rows that are matched already."""
    a, b, alignment = comparison.a, comparison.b, comparison.alignment
    place = np.empty(a.rows, np.int64)
    sizes = {}
    for epoch, rows in a.epochs.items():
        sizes[epoch] = len(place[rows])
        place[rows] = np.arange(sizes[epoch])
    partner = np.full(b.rows, -1, np.int64)
    partner[alignment.rows_b] = place[alignment.rows_a]
    epochs = []
    for epoch, rows in b.epochs.items():
        target = partner[rows]
        epochs.append(_Epoch(target[target >= 0], sizes.get(epoch, 0), len(target)))
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
        chains = _chains(base, epoch.target, epoch.size, len(epochs))
        common = {chain: None for chain in chains if common is None or chain in common}
        if not common:
            return []
    return list(common or ())


def _chains(done: _Chain, target: Integers, size: int, epochs: int) -> Iterator[_Chain]:
    """Yield the chains that bring `size` places, made by `done`, into the target's order."""
    yield from _last_steps(done, target, size, epochs)
    if done.length >= LONGEST:
        return
    for operation in proposals(target, size):
        places = operation.forth(target)
        if (places >= 0).all():
            step = _Chain(done.length + 1, False, operation.formula.format(done.formula))
            yield from _chains(step, places, operation.size, epochs)


def _last_steps(done: _Chain, target: Integers, size: int, epochs: int) -> Iterator[_Chain]:
    if len(target) == size and _greatest_advance(target) == 0:
        yield done  # no row comes early, so none comes late
        return
    if turns := formula_of_turns(target, size):
        yield _Chain(done.length + 1, False, turns.format(done.formula))
    for count in fitting_partition_counts(target, size) if _may_be_merged(target) else ():
        in_order = count * math.lgamma(len(target) // count + 1)
        if -in_order * epochs < math.log(UNLIKELY):
            formula = f"merge(partition({done.formula}, {count}))"
            yield _Chain(done.length + 1, True, formula, math.lgamma(len(target) + 1) - in_order)
    window = _greatest_advance(target) + 1
    if len(target) == size and 1 < window <= size // WIDEST_WINDOW:
        formula = f"window_shuffle({done.formula}, {window})"
        yield _Chain(done.length + 1, True, formula, size * math.log(window))


def _greatest_advance(target: Integers) -> int:
    """Tell how many rows earlier than in plain order a row comes, at most."""
    return max(
        int((target[rows] - np.arange(rows.start, rows.stop)).max()) for rows in slices(len(target))
    )


def _may_be_merged(target: Integers) -> bool:
    """Tell from the first rows whether the order may be a merge of parts of two rows or more.

    A place that comes before its predecessor is the first of its part, and the length of
    the parts divides all of these, and the rows.
    """
    head = target[:HEAD]
    order = np.argsort(head)
    ordered = head[order]
    follows = (ordered[1:] == ordered[:-1] + 1) & (order[1:] > order[:-1])
    firsts = ordered[np.append(True, ~follows)]
    return int(np.gcd.reduce(np.append(firsts, len(target)))) > 1
