"""How well a shuffle mixes, measured on what came out of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from detloader.audits.alignment import match_occurrences
from detloader.audits.integers import distinct, tally
from detloader.audits.measures.statistics import log_choose

if TYPE_CHECKING:
    import numpy.typing as npt

    from detloader.audits.columns import Integers

__all__ = ["Displacement", "Stay", "common_batches", "displacement", "purity", "scatter", "stay"]

SAMPLE = 131_072
"""Places of an order that are measured."""

SLIPS = 0.05
"""Share of an epoch's rows up to which repeated records are padding, or substitutes."""

LARGE_SAMPLE = 200
"""Rows from which on a rank correlation is normal enough to be judged far out."""


@dataclass(frozen=True, slots=True)
class Displacement:
    """How far an order is from its source's.

    Attributes:
        rows: records (or blocks of neighbours) that were placed.
        buffer: the smallest shuffle buffer that could have made the order.
        correlation: rank correlation of place and source position, -1 to 1.
        log_chance: logarithm of a bound on the chance that a full shuffle does this.
    """

    rows: int
    buffer: int
    correlation: float
    log_chance: float


def displacement(source: npt.NDArray[Any]) -> Displacement:
    """Measure an order by the source positions of its records, each of which comes once.

    Neighbours in the source that come one after the other are a block, and move as
    one: whole shards may have been shuffled. A record leaves a buffer of K at most
    K - 1 places early. Of the n! orders, K! K^(n - K) never move one further to the front.

    Of a long order some places are measured, at even distances.

    Args:
        source: shape (n,); values whose order is the source's, in delivery order; n > 1.
    """
    step = len(source) // SAMPLE + 1
    ranks = _blocks(_ranks(source[::step]))
    rows = len(ranks)
    early = ranks - np.arange(rows)
    buffer = int(early.max()) + 1
    correlation = 1 - 6 * float((early.astype(np.float64) ** 2).sum()) / (rows * (rows**2 - 1))
    orders = math.lgamma(buffer + 1) + (rows - buffer) * math.log(buffer)
    log_chance = orders - math.lgamma(rows + 1)
    if rows >= LARGE_SAMPLE and correlation > 0:
        from scipy.stats import norm

        tail = float(norm.logsf(correlation * math.sqrt(rows - 1)))
        log_chance = min(log_chance, tail) + math.log(2)
    return Displacement(rows * step, buffer * step, correlation, min(log_chance, 0.0))


def _ranks(values: npt.NDArray[Any]) -> Integers:
    ranks = np.empty(len(values), np.int64)
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))
    return ranks


def _blocks(ranks: Integers) -> Integers:
    """Merge neighbours that come one after the other; an order that is the source's stays."""
    starts = np.ones(len(ranks), dtype=np.bool_)
    starts[1:] = np.diff(ranks) != 1
    return _ranks(ranks[starts]) if starts.sum() > 1 else ranks


@dataclass(frozen=True, slots=True)
class Stay:
    """How many records stay with who delivered them, from one epoch to the next.

    Attributes:
        stayed: records that did.
        common: records that both epochs delivered.
        log_chance: logarithm of a bound on the chance that a new deal leaves so many.
    """

    stayed: int
    common: int
    log_chance: float


def stay(
    records: tuple[Integers, Integers], deliverers: tuple[Integers, Integers], parts: int
) -> Stay:
    """Count records that stay, whatever the deliverers are called in the later epoch.

    Args:
        records: those of the earlier and the later epoch.
        deliverers: who delivered each of them, from 0 to parts - 1.
        parts: how many deliverers there are.
    """
    earlier, later = match_occurrences(*records)
    pairs = deliverers[0][earlier] * parts + deliverers[1][later]
    table = np.bincount(pairs, minlength=parts * parts).reshape(parts, parts)
    stayed, common = int(table.max(axis=1).sum()), len(earlier)
    deals = math.lgamma(common + 1)
    deals -= sum(math.lgamma(count + 1) for count in table.sum(axis=1).tolist())
    moved = common - stayed
    alike = log_choose(common, moved) + moved * math.log(parts)
    if int(np.trace(table)) < stayed:  # others may have taken their names
        alike += math.lgamma(parts + 1)
    return Stay(stayed, common, min(0.0, alike - deals))


def common_batches(
    records: tuple[Integers, Integers], batches: tuple[Integers, Integers]
) -> tuple[int, int, float]:
    """Count the batches of the later epoch that the earlier one had too, as sets.

    Args:
        records: those of the earlier and the later epoch.
        batches: the batch of each of them.

    Returns:
        Batches in common, batches of the later epoch (of two records and more), and the
        logarithm of the chance that a shuffle makes all batches again. Of epochs in which
        records repeat nothing is counted: few records make few different batches.
    """
    if any(len(distinct(each)) < (1 - SLIPS) * len(each) for each in records):
        return 0, 0, 0.0
    earlier, _ = _sets(records[0], batches[0])
    later, sizes = _sets(records[1], batches[1])
    ways = math.lgamma(int(sizes.sum()) + 1) - math.lgamma(len(sizes) + 1)
    lengths, times = tally(sizes)
    ways -= sum(
        count * math.lgamma(length + 1)
        for length, count in zip(lengths.tolist(), times.tolist(), strict=True)
    )
    return int(np.isin(later, earlier).sum()), len(later), min(0.0, -ways)


def _sets(records: Integers, batches: Integers) -> tuple[npt.NDArray[np.uint64], Integers]:
    """Give a digest of each batch of two records and more, whatever their order, and its size."""
    if (np.diff(batches) < 0).any():
        order = np.argsort(batches, kind="stable")
        records, batches = records[order], batches[order]
    starts = np.flatnonzero(np.diff(batches, prepend=batches[:1] - 1))
    sizes = np.diff(np.append(starts, len(batches)))
    digests = np.add.reduceat(scatter(records), starts)
    several = sizes > 1
    return digests[several], sizes[several]


def scatter(records: Integers) -> npt.NDArray[np.uint64]:
    """Spread numbers over 64 bits, so that sums of few of them are all different (splitmix64)."""
    bits = records.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: npt.NDArray[np.uint64] = bits ^ (bits >> np.uint64(31))
    return mixed


def purity(labels: npt.NDArray[Any], batches: Integers) -> tuple[float, float]:
    """Give how often two records of a batch have one label, and how often two of all have.

    Args:
        labels: shape (rows,); of each record.
        batches: shape (rows,); the batch of each record.
    """
    numbers = np.unique(labels, return_inverse=True)[1]
    joint = np.unique(np.stack([batches, numbers]), axis=1, return_counts=True)[1]
    return _pairs(joint) / max(_pairs(np.unique(batches, return_counts=True)[1]), 1), _pairs(
        np.bincount(numbers)
    ) / max(_pairs(np.array([len(labels)])), 1)


def _pairs(counts: Integers) -> float:
    wide = counts.astype(np.float64)
    return float((wide * (wide - 1) / 2).sum())
