"""The one error chance, and the tests that keep it.

Every rule that judges by chance does so at `ALPHA`, and divides it among the
tests that it makes (Bonferroni). With fewer than a hundred rules and subjects a
run, the chance of any false finding in a run stays below one in a million.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from detloader.audits.integers import tally

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from detloader.audits.columns import Integers

__all__ = [
    "ALPHA",
    "PLAUSIBLE",
    "chance_of_no_repeat",
    "chance_of_shares",
    "is_impossible",
    "log_arrangements",
    "log_choose",
]

ALPHA = 1e-8
"""Chance at which one test of one rule may be wrong."""

PLAUSIBLE = 1e-4
"""A hypothesis less likely than this is not offered as the cause, though it is not refuted."""


def is_impossible(log_chance: float, tests: float = 1) -> bool:
    """Tell whether chance explains nothing, having looked in so many places."""
    return log_chance + math.log(max(tests, 1)) < math.log(ALPHA)


def chance_of_shares(counts: Integers, shares: npt.NDArray[np.float64]) -> float:
    """Give the chance of counts so far from their expected shares.

    Each group is tested exactly (binomial, two-sided); the smallest p-value times the
    number of groups bounds the chance over all of them, at any number of draws.

    Args:
        counts: shape (groups,), int64.
        shares: shape (groups,), float64; they sum to 1.
    """
    from scipy.stats import binomtest

    draws = int(counts.sum())
    chances = [
        binomtest(int(count), draws, min(float(share), 1.0)).pvalue
        for count, share in zip(counts, shares, strict=True)
    ]
    return min(1.0, float(min(chances)) * len(chances))


def chance_of_no_repeat(draws: int, records: int) -> float:
    """Give the logarithm of the chance that draws with replacement never repeat.

    Equal weights make it largest, so that it bounds the chance under any weights.
    """
    if draws > records:
        return -math.inf
    return math.lgamma(records + 1) - math.lgamma(records - draws + 1) - draws * math.log(records)


def log_arrangements(order: Integers) -> float:
    """Give the logarithm of how many orders the same values could stand in."""
    counts = tally(order)[1]
    return math.lgamma(len(order) + 1) - sum(
        math.lgamma(count + 1) for count in counts if count > 1
    )


def log_choose(size: int, chosen: int) -> float:
    """Give the logarithm of the number of ways to choose so many of `size`."""
    return math.lgamma(size + 1) - math.lgamma(chosen + 1) - math.lgamma(size - chosen + 1)
