"""Seeds for independent repeats of an experiment.

Pass e of seed s is pass e - 1 of seed s + 1: the seeds 0, 1, 2 with three
epochs each have five orders between them, not nine. Seeds are independent as
long as they lie further apart, on the ring modulo 2**32, than any run has epochs.
"""

from __future__ import annotations

from numbers import Integral

import numpy as np

from detloader.errors import UsageError

__all__ = ["MAX_SEEDS", "spawn_seeds"]

MAX_SEEDS = 65_536
"""Most seeds that are spawned from one; the distance below is proved up to here."""

_RING = 2**32
_GOLDEN = 0x9E37_79B9  # 2**32 over the golden ratio, an odd number


def spawn_seeds(seed: int, n: int) -> list[int]:
    """Derive n seeds that share no epoch's order.

    The seeds step round the ring by the golden ratio of its length, from a start
    hashed from `seed`. Any two of the n lie at least 2**32 // (3 * n) apart, in
    both directions: runs of fewer epochs than that never share an order. Seeds
    spawned from another `seed` start elsewhere, but at no guaranteed distance.

    Args:
        seed: any integer of 0 or more.
        n: how many; 0 to 65,536. More of them begin with the same ones:
            spawn_seeds(s, 3) == spawn_seeds(s, 5)[:3].

    Returns:
        n distinct seeds in [0, 2**32).

    Raises:
        UsageError: seed or n is no such integer.
    """
    if not _is_integer(seed) or seed < 0:
        raise UsageError(f"seed is {seed!r}; give an integer of 0 or more")
    if not _is_integer(n) or not 0 <= n <= MAX_SEEDS:
        raise UsageError(f"n is {n!r}; give an integer from 0 to {MAX_SEEDS}")
    start = int(np.random.SeedSequence(int(seed)).generate_state(1)[0])
    return [(start + step * _GOLDEN) % _RING for step in range(n)]


def _is_integer(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
