"""Schedules of two runs held against each other: the share that each record has in both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import are_distinct, contains, distinct
from detloader.audits.measures.shares import chance_of_counts
from detloader.audits.measures.statistics import PLAUSIBLE
from detloader.audits.measures.weighted import Draws
from detloader.order.interleave import oversampling
from detloader.order.partition import contiguous_floor

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.rule import Known
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue


__all__ = ["Schedules", "chance_of_homogeneity", "part_counts", "repetition", "schedules_of"]


MOST_PARTS = 64
"""Part counts that are tried as an explanation."""


@dataclass(frozen=True, eq=False, slots=True)
class Schedules:
    """What two runs drew, of the same subjects.

    Attributes:
        draws: what the run drew; its weights are the shares that the baseline has.
        baseline: shape (subjects,), int64; times each came in the baseline.
    """

    draws: Draws
    baseline: Integers


def repetition(view: StreamView) -> float:
    """Give how often a record comes in the first epoch, on average."""
    if not view.rows:
        return 0.0
    first = view.asked[next(iter(view.epochs.values()))]
    return 1.0 if are_distinct(first) else len(first) / len(distinct(first))


def schedules_of(a: StreamView, b: StreamView, by: str, known: Known) -> Schedules:
    """Count subjects in both runs, in the order in which the baseline first delivers them."""
    left, right = a.record.values, b.record.values
    kept = np.ones(len(left), dtype=np.bool_)
    if known.missing is not None:
        kept = ~contains(known.missing, left)
    if by == "shard":
        columns = [view.column("shard") for view in (a, b)]
        texts = [np.array([str(c.show_value(v)) for v in np.unique(c.values)]) for c in columns]
        codes = [np.unique(column.values, return_inverse=True)[1] for column in columns]
        names, joint = np.unique(np.concatenate(texts), return_inverse=True)
        left, right = joint[: len(texts[0])][codes[0]], joint[len(texts[0]) :][codes[1]]
    values, inverse = np.unique(np.concatenate([left, right]), return_inverse=True)
    in_a, in_b = inverse[: len(left)][kept], inverse[len(left) :]
    baseline = np.bincount(in_a, minlength=len(values))
    counts = np.bincount(in_b, minlength=len(values))
    debut = np.full(len(values), len(inverse))
    np.minimum.at(debut, inverse, np.arange(len(inverse)))
    order = np.argsort(debut)
    order = order[(baseline[order] > 0) | (counts[order] > 0)]
    shown = [str(names[v]) for v in values] if by == "shard" else a.identify(values)
    draws = Draws(
        names=[shown[place] for place in order.tolist()],
        weights=baseline[order] / max(int(baseline.sum()), 1),
        counts=counts[order],
        repeats=True,
    )
    return Schedules(draws, baseline[order])


def chance_of_homogeneity(schedules: Schedules) -> float:
    """Give the logarithm of the chance that two runs draw from one distribution (chi-square)."""
    from scipy.stats import chi2

    table = np.stack([schedules.baseline, schedules.draws.counts]).astype(np.float64)
    if table.shape[1] < 2 or not table.sum(axis=1).all():  # noqa: PLR2004
        return 0.0
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    statistic = float(((table - expected) ** 2 / expected).sum())
    return float(chi2.logsf(statistic, table.shape[1] - 1))


def part_counts(schedules: Schedules, workers: int | None) -> tuple[list[int], list[JsonValue]]:
    """Find part counts for which parts that repeat for themselves explain the counts.

    Each of W contiguous parts then has an equal share of the stream. The declared
    worker count comes first.

    Returns:
        The part counts, and for the first of them the shares of its parts.
    """
    draws, fitting = schedules.draws, []
    for parts in range(2, min(MOST_PARTS, len(draws.names)) + 1):
        factors = oversampling(schedules.baseline, parts)
        expected = draws.weights * factors
        if not np.isclose(expected.sum(), 1) or np.allclose(factors, 1):
            continue
        if chance_of_counts(draws, expected) >= PLAUSIBLE:
            fitting.append(parts)
    fitting.sort(key=lambda parts: (parts != workers, parts))
    return fitting, _show_parts(draws, fitting[0]) if fitting else []


def _show_parts(draws: Draws, parts: int) -> list[JsonValue]:
    return [
        {
            "first": draws.names[part.start],
            "last": draws.names[part.stop - 1],
            "baseline": float(draws.weights[part.start : part.stop].sum()),
            "realised": float(draws.realised[part.start : part.stop].sum()),
        }
        for part in contiguous_floor(len(draws.names), parts)
    ]
