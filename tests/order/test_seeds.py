from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from detloader.errors import UsageError
from detloader.order.permutation import RecordOrder
from detloader.order.seeds import MAX_SEEDS, spawn_seeds

RING = 2**32


@given(seed=st.integers(0, 2**70), n=st.integers(2, 3_000))
@example(seed=0, n=2)
@example(seed=0, n=28_658)
@example(seed=0, n=MAX_SEEDS)
def test_no_two_seeds_are_closer_than_the_docstring_says(seed: int, n: int) -> None:
    seeds = sorted(spawn_seeds(seed, n))

    gaps = [b - a for a, b in pairwise([*seeds, seeds[0] + RING])]

    assert min(gaps) >= RING // (3 * n)
    assert seeds[0] >= 0
    assert seeds[-1] < RING


def test_the_distance_holds_for_every_number_of_seeds() -> None:
    first, *others = (np.array(spawn_seeds(0, MAX_SEEDS)) - spawn_seeds(0, 1)[0]) % RING
    steps = np.array(others)

    closest = np.minimum.accumulate(np.minimum(steps, RING - steps))

    assert first == 0
    assert np.all(closest >= RING // (3 * np.arange(2, MAX_SEEDS + 1)))


@given(seed=st.integers(0, 2**64), n=st.integers(0, 50), more=st.integers(0, 50))
def test_more_seeds_begin_with_the_same_ones(seed: int, n: int, more: int) -> None:
    assert spawn_seeds(seed, n + more)[:n] == spawn_seeds(seed, n)


def test_known_seeds_hold() -> None:
    assert spawn_seeds(0, 3) == [2968811710, 1328280183, 3982715952]
    assert spawn_seeds(1, 1) == [1835504127]


def test_repeats_share_no_pass_where_neighbouring_seeds_do() -> None:
    def passes(seeds: list[int]) -> int:
        orders = [RecordOrder(20, seed=seed, num_epochs=3) for seed in seeds]
        epochs = [order.indices(e * 20, e * 20 + 20) for order in orders for e in range(3)]
        return len({epoch.tobytes() for epoch in epochs})

    assert passes([0, 1, 2]) == 5
    assert passes(spawn_seeds(0, 3)) == 9


@pytest.mark.parametrize("seed", [-1, 1.5, True, "0", None])
def test_a_seed_that_is_no_natural_number_is_refused(seed: object) -> None:
    with pytest.raises(UsageError, match="seed"):
        spawn_seeds(seed, 3)  # type: ignore[arg-type]  # the error is the point


@pytest.mark.parametrize("n", [-1, 2.0, False, MAX_SEEDS + 1, None])
def test_an_impossible_number_of_seeds_is_refused(n: object) -> None:
    with pytest.raises(UsageError, match="n is"):
        spawn_seeds(0, n)  # type: ignore[arg-type]  # the error is the point
