"""Orders that differ as parallel readers make them differ: by who was ready first.

Three traces tell delivery from a shuffle. Readers give their own records in order, so the
order inside each shard (or inside each contiguous part of the source) is the same in both
runs, while their records are interleaved otherwise. Where workers are handed their work in
the order of the other run, each of them keeps it. And nobody runs far ahead, so that
records stand near the places that they have in the other run.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import are_distinct, slices
from detloader.audits.measures.parts_in_order import order_of_workers
from detloader.audits.measures.shards import has_shards
from detloader.audits.measures.statistics import is_impossible

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.compare import Comparison

__all__ = [
    "LANES",
    "Delivery",
    "displacements",
    "find_delivery",
    "has_same_records",
    "is_local",
    "tell_trace",
]

LANES = frozenset({"shards", "workers"})
"""Traces of readers that a column names; parts and displacements are found without one."""

SAMPLE = 65_536
"""Rows that are looked at first, so that long runs of another kind are soon let go."""

FARTHEST = 0.25
"""Share of an epoch that a record may be away from its place, to have been overtaken only."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """An order that delivery explains.

    Attributes:
        trace: "shards", "parts", "workers" or "displacement".
        groups: shards, parts or workers whose inner order is kept; 0 for displacement.
        log_chance: logarithm of the chance that a shuffle of all records leaves this trace.
    """

    trace: str
    groups: int
    log_chance: float


def tell_trace(trace: str, groups: object) -> str:
    """Say what two orders have in common, by the trace and the number of its groups."""
    return {
        "shards": f"the order inside each of {groups} shards is kept",
        "workers": f"each of {groups} workers keeps the order of the other run",
        "parts": f"both are merges of the same {groups} parts of the source",
        "displacement": "records stay near their places, far nearer than a shuffle leaves them",
    }[trace]


def has_same_records(comparison: Comparison) -> bool:
    """Tell whether each epoch has the same records in both runs, as often."""
    return len(comparison.alignment.rows_a) == comparison.a.rows == comparison.b.rows


def find_delivery(comparison: Comparison) -> Delivery | None:
    """Find the traces of delivery in an order that differs; None where there are none."""
    if not has_same_records(comparison) or not comparison.counts.moved:
        return None
    found = _by_shards(comparison) or _by_parts(comparison)
    if found is not None:
        return found
    if workers := order_of_workers(comparison):
        return Delivery("workers", *workers)
    if _has_shards(comparison):  # another order inside the shards is another shuffle
        return None
    log_chance = _chance_of_displacements(comparison)
    if not is_impossible(log_chance) or _come_again(comparison):
        return None
    return Delivery("displacement", 0, log_chance)


def _come_again(comparison: Comparison) -> bool:
    """Tell whether records repeat in an epoch: each pass over the source is then near itself."""
    a = comparison.a
    return not all(are_distinct(a.record.values[rows]) for rows in a.epochs.values())


def _has_shards(comparison: Comparison) -> bool:
    return has_shards(comparison.a) or has_shards(comparison.b)


def _by_shards(comparison: Comparison) -> Delivery | None:
    if not _has_shards(comparison):
        return None
    a, alignment = comparison.a, comparison.alignment
    if has_shards(a):
        shard = a.column("shard").values[alignment.rows_a]
    else:
        shard = comparison.b.column("shard").values[alignment.rows_b]
    labels = np.unique(shard, return_inverse=True)[1]
    return _keeps_order(comparison, labels, "shards")


def _by_parts(comparison: Comparison) -> Delivery | None:
    """Try the contiguous parts of the source that both orders could be merges of."""
    rows_a, rows_b = comparison.alignment.rows_a, comparison.alignment.rows_b
    source = _source_positions(comparison)
    if source is None:
        return None
    epochs = _epochs(comparison.a.epoch)
    if any(_many_falls(source[rows][:SAMPLE], rows_b[rows][:SAMPLE]) for rows in epochs):
        return None
    labels = np.zeros(len(rows_a), np.int64)
    for rows in epochs:
        order = rows.start + np.argsort(source[rows], kind="stable")
        falls_a, falls_b = np.diff(rows_a[order]) < 0, np.diff(rows_b[order]) < 0
        if not falls_a.any() or not falls_b.any():
            return None  # one of them is in source order: no merge
        falls = falls_a | falls_b
        if not is_impossible(_chance_of_descents(int(falls.sum()), len(order))):
            return None
        labels[order[1:]] = np.cumsum(falls)
    return _keeps_order(comparison, labels, "parts")


def _many_falls(source: Integers, rows: Integers) -> bool:
    """Tell from a few neighbouring rows whether their order is too mixed for a merge."""
    falls = np.diff(rows[np.argsort(source)]) < 0
    return not is_impossible(_chance_of_descents(int(falls.sum()), len(rows)))


def _source_positions(comparison: Comparison) -> Integers | None:
    a = comparison.a
    if a.has("index") and a.column("index").vocabulary is None:
        return a.column("index").values
    return None if a.record.vocabulary is not None else a.record.values


def _keeps_order(comparison: Comparison, labels: Integers, trace: str) -> Delivery | None:
    """Tell whether the order inside each group is the same, and the groups are interleaved."""
    a, rows_a, rows_b = comparison.a, comparison.alignment.rows_a, comparison.alignment.rows_b
    epoch = a.epoch[rows_a]
    for part in (slice(SAMPLE), slice(None)):
        order = np.lexsort((rows_a[part], labels[part], epoch[part]))
        group_ends = (np.diff(labels[part][order]) != 0) | (np.diff(epoch[part][order]) != 0)
        if not (group_ends | (np.diff(rows_b[part][order]) > 0)).all():
            return None
    sizes = np.diff(np.flatnonzero(np.concatenate([[True], group_ends, [True]])))
    log_chance = -sum(math.lgamma(size + 1) for size in sizes.tolist())
    if not is_impossible(log_chance) or _stand_apart(labels, rows_a, rows_b, len(sizes)):
        return None
    return Delivery(trace, len(np.unique(labels)), log_chance)


def _stand_apart(labels: Integers, rows_a: Integers, rows_b: Integers, groups: int) -> bool:
    """Tell whether groups follow one another whole in both runs: those were shuffled, not raced."""
    return all(
        int((np.diff(labels[np.argsort(rows)]) != 0).sum()) < groups for rows in (rows_a, rows_b)
    )


def _chance_of_displacements(comparison: Comparison) -> float:
    """Give the logarithm of the chance that shuffled epochs stay so near to one another."""
    rows_b = comparison.alignment.rows_b
    distance = mean = variance = 0.0
    for rows in _epochs(comparison.a.epoch):
        places = rows_b[rows] - rows_b[rows].min()
        if not _is_bounded(places):
            return 0.0
        moved, expected, spread = _footrule(places)
        distance, mean, variance = distance + moved, mean + expected, variance + spread
    return _log_below(distance, mean, variance)


def is_local(places: Integers) -> bool:
    """Tell whether an order stays nearer to another one than a shuffle of all rows does.

    Args:
        places: shape (rows,), int64; for each row of the one its place in the other.
    """
    return _is_bounded(places) and is_impossible(_log_below(*_footrule(places)))


def _is_bounded(places: Integers) -> bool:
    """Tell whether no row is far away; streams shifted by one draw are near on average only."""
    farthest = FARTHEST * len(places)
    return all(
        np.abs(places[rows] - np.arange(rows.start, rows.stop)).max() <= farthest
        for rows in slices(len(places))
    )


def displacements(comparison: Comparison) -> Integers:
    """Give how far each matched row stands from its place in the other run; shape (common,)."""
    distance: Integers = np.abs(comparison.alignment.rows_a - comparison.alignment.rows_b)
    return distance


def _footrule(places: Integers) -> tuple[float, float, float]:
    """Give Spearman's footrule of an order, and its mean and variance over all orders.

    Moments after Diaconis and Graham (1977).
    """
    size = len(places)
    distance = float(np.abs(places - np.arange(size)).sum())
    return distance, (size**2 - 1) / 3, (size + 1) * (2 * size**2 + 7) / 45


def _chance_of_descents(descents: int, size: int) -> float:
    """Give the logarithm of the chance that a shuffled order has so few descents."""
    return _log_below(descents, (size - 1) / 2, (size + 1) / 12)


def _log_below(value: float, mean: float, variance: float) -> float:
    if not variance:
        return 0.0
    deviations = (value - mean) / math.sqrt(variance)
    if deviations > -5:  # noqa: PLR2004 - near enough for what takes no time to import
        return math.log(math.erfc(-deviations / math.sqrt(2)) / 2)
    from scipy.special import log_ndtr

    return float(log_ndtr(deviations))


def _epochs(epoch: Integers) -> list[slice]:
    """Give the rows of each epoch, where rows stand epoch by epoch."""
    borders = np.flatnonzero(epoch[1:] != epoch[:-1]) + 1
    return [slice(*rows) for rows in itertools.pairwise([0, *borders.tolist(), len(epoch)])]
