"""Shares that records have of a stream, held against those that were meant, and the chances."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.measures.shown import SHOWN
from detloader.audits.measures.statistics import PLAUSIBLE, chance_of_shares, is_impossible
from detloader.order.interleave import oversampling

if TYPE_CHECKING:
    import numpy.typing as npt

    from detloader.audits.columns import Flags, Integers
    from detloader.audits.measures.weighted import Draws
    from detloader.findings import JsonValue

__all__ = [
    "chance_of_counts",
    "chance_of_groups",
    "furthest_off",
    "groups_of",
    "never_drawn",
    "other_weights",
    "show_shares",
]

GROUPS = 10
"""Groups of records of like weight that are tested."""


def groups_of(draws: Draws) -> tuple[list[Integers], list[Integers]]:
    """Group records of equal or similar weight, and neighbours in the source."""
    records = np.arange(len(draws.weights))
    return _by_weight(draws), np.array_split(records, min(GROUPS, len(records)))


def _by_weight(draws: Draws) -> list[Integers]:
    order = np.argsort(draws.weights, kind="stable")
    borders = np.flatnonzero(np.diff(draws.weights[order])) + 1
    if len(borders) < GROUPS:
        return np.split(order, borders)
    return np.array_split(order, GROUPS)


def chance_of_groups(
    draws: Draws, groups: list[Integers], shares: npt.NDArray[np.float64]
) -> float:
    """Give the chance of counts so far from shares, tested group by group."""
    counts = np.array([draws.counts[group].sum() for group in groups])
    return chance_of_shares(counts, np.array([shares[group].sum() for group in groups]))


def furthest_off(draws: Draws) -> tuple[int, float]:
    """Give the record that is furthest off, and the ratio of its shares, at least 1."""
    both = (draws.counts > 0) & (draws.weights > 0)
    place = int(np.argmax(np.where(both, _distance(draws), -1.0)))
    low, high = sorted([float(draws.realised[place]), float(draws.weights[place])])
    return place, high / low if low else 1.0


def _distance(draws: Draws) -> npt.NDArray[np.float64]:
    """Give how far each count is off, in standard deviations of the meant one."""
    meant = draws.weights * draws.rows
    distance: npt.NDArray[np.float64] = np.abs(draws.counts - meant) / np.sqrt(
        np.maximum(meant, 1.0)
    )
    return distance


def never_drawn(draws: Draws) -> Flags:
    """Tell which records ought to have come, and never did."""
    chance = draws.rows * np.log1p(-np.minimum(draws.weights, 1 - 1e-12))
    gone = (draws.counts == 0) & (draws.weights > 0)
    never: Flags = np.zeros(len(gone), dtype=np.bool_)
    never[gone] = [is_impossible(float(each), len(gone)) for each in chance[gone]]
    return never


def show_shares(draws: Draws) -> list[JsonValue]:
    """List records with both shares, those that are furthest off first."""
    order = np.argsort(-_distance(draws), kind="stable")[:SHOWN]
    return [
        {
            "record": draws.names[place],
            "declared": float(draws.weights[place]),
            "realised": float(draws.realised[place]),
        }
        for place in order.tolist()
    ]


def chance_of_counts(draws: Draws, shares: npt.NDArray[np.float64]) -> float:
    """Give the chance of counts so far from shares, two-sided.

    Groups of records of like declared weight are tested, neighbours in the source, and
    each record by itself; the smallest p-value is multiplied by their number.

    Args:
        draws: what was drawn.
        shares: shape (records,), float64; they sum to 1.
    """
    by_weight, by_place = groups_of(draws)
    groups = [*by_weight, *by_place]
    counts = np.concatenate([[draws.counts[group].sum() for group in groups], draws.counts])
    meant = np.concatenate([[shares[group].sum() for group in groups], shares])
    return min(1.0, float(_binomial(counts, draws.rows, meant).min()) * len(counts))


def _binomial(
    counts: Integers, draws: int, shares: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Give twice the smaller tail of the binomial distribution, exact."""
    from scipy.stats import binom

    shares = np.clip(shares, 0.0, 1.0)
    tails = np.minimum(binom.cdf(counts, draws, shares), binom.sf(counts - 1, draws, shares))
    doubled: npt.NDArray[np.float64] = np.minimum(2 * tails, 1.0)
    return doubled


def other_weights(draws: Draws, workers: int | None) -> str | None:
    """Name a known mistake with weights that explains the counts; None where none does."""
    weights = draws.weights
    reciprocal = np.divide(1.0, weights, out=np.zeros(len(weights)), where=weights > 0)
    guesses = {
        "The weights were used upside down: the sampler draws by their reciprocals.": reciprocal,
        "The weights were used twice: the sampler draws by their squares.": weights**2,
        "The weights stand in reverse order.": weights[::-1],
        "The weights are one place late.": np.roll(weights, 1),
        "The weights are one place early.": np.roll(weights, -1),
    }
    if workers is not None and workers > 1:
        guesses[
            "Implicit partitioning: each contiguous part draws for itself, and parts are "
            "merged at equal rates."
        ] = weights * oversampling(weights, workers)
    for cause, guess in guesses.items():
        if guess.sum() > 0 and chance_of_counts(draws, guess / guess.sum()) >= PLAUSIBLE:
            return cause
    return None
