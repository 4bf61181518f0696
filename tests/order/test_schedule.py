from __future__ import annotations

import math
import random
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detloader.errors import UsageError
from detloader.order.schedule import random_id_generator, uniform_id_generator

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def global_random() -> Iterator[None]:
    state = random.getstate()
    yield
    random.setstate(state)


@pytest.mark.usefixtures("global_random")
def test_unweighted_draws_of_global_seed_zero_are_the_published_ones() -> None:
    random.seed(0)

    draws = list(islice(random_id_generator([10, 20]), 10))

    assert draws == [20, 20, 10, 20, 20, 20, 20, 20, 20, 10]


def test_a_generator_of_ones_own_gives_the_same_draws_as_the_global_one() -> None:
    draws = random_id_generator([10, 20], rng=random.Random(0))

    assert list(islice(draws, 10)) == [20, 20, 10, 20, 20, 20, 20, 20, 20, 10]


@given(seed=st.integers(0, 2**32), weights=st.none() | st.lists(st.floats(0.5, 2), min_size=1))
def test_a_generator_of_ones_own_leaves_the_global_one_alone(
    seed: int, weights: list[float] | None
) -> None:
    before = random.getstate()
    ids = list(range(len(weights or "three")))

    list(islice(random_id_generator(ids, weights, rng=random.Random(seed)), 5))
    list(islice(uniform_id_generator(ids, rng=random.Random(seed)), 5))

    assert random.getstate() == before


@given(seed=st.integers(0, 2**32), weights=st.lists(st.floats(0, 1e6), min_size=1, max_size=9))
def test_each_weighted_draw_is_one_random_number_bisected_into_the_weights(
    seed: int, weights: list[float]
) -> None:
    weights = [*weights, 1.0]
    numbers = random.Random(seed)

    drawn = islice(random_id_generator(range(len(weights)), weights, rng=random.Random(seed)), 20)

    total = math.fsum(weights)
    for chosen in drawn:
        number = numbers.random() * total
        below = math.fsum(weights[:chosen])
        assert below * (1 - 1e-9) <= number <= (below + weights[chosen]) * (1 + 1e-9)


@pytest.mark.parametrize("mass", [5e-324, 1e-300, 1, 1e308])
def test_an_id_of_weight_zero_never_comes(mass: float) -> None:
    ids = ["first", "kept", "between", "last"]
    weights = [0.0, mass, 0.0, 0.0]

    drawn = islice(random_id_generator(ids, weights, rng=random.Random(1)), 2_000)

    assert set(drawn) == {"kept"}


def test_weights_are_relative() -> None:
    drawn = islice(random_id_generator("ab", [0.1, 0.9], rng=random.Random(2)), 10_000)

    assert 8_500 < Counter(drawn)["b"] < 9_500


def test_equal_weights_are_another_sequence_than_no_weights() -> None:
    unweighted = islice(random_id_generator(range(9), rng=random.Random(3)), 50)
    weighted = islice(random_id_generator(range(9), [1] * 9, rng=random.Random(3)), 50)

    assert list(unweighted) != list(weighted)


@pytest.mark.parametrize(
    "weights",
    [[1], [1, 2, 3], [-1, 2], [0, 0], [math.nan, 1], [math.inf, 1], [1e308, 1e308]],
)
def test_wrong_weights_are_refused_by_the_call_itself(weights: list[float]) -> None:
    with pytest.raises(UsageError, match="weights"):
        random_id_generator([10, 20], weights)


def test_no_ids_raise_at_the_first_draw() -> None:
    draws: Iterator[int] = random_id_generator([])

    with pytest.raises(IndexError):
        next(draws)


@given(ids=st.lists(st.integers(), min_size=1, unique=True), seed=st.integers(0, 2**32))
def test_every_cycle_has_each_id_once(ids: list[int], seed: int) -> None:
    generator = uniform_id_generator(list(ids), rng=random.Random(seed))

    for _ in range(3):
        assert sorted(islice(generator, len(ids))) == sorted(ids)


def test_without_repeat_there_is_one_cycle() -> None:
    assert list(uniform_id_generator([3, 1, 2], repeat=False, shuffle=False)) == [3, 1, 2]


def test_without_shuffle_every_cycle_has_the_given_order() -> None:
    assert list(islice(uniform_id_generator([3, 1, 2], shuffle=False), 7)) == [3, 1, 2, 3, 1, 2, 3]


@given(seed=st.integers(0, 2**32))
def test_each_shuffle_starts_from_the_order_of_the_cycle_before(seed: int) -> None:
    ids = list(range(8))
    expected = list(range(8))
    rng = random.Random(seed)
    generator = uniform_id_generator(ids, rng=random.Random(seed))

    for _ in range(3):
        rng.shuffle(expected)
        assert list(islice(generator, 8)) == expected
        assert ids == expected


def test_a_tuple_cannot_be_shuffled() -> None:
    with pytest.raises(TypeError):
        next(uniform_id_generator((1, 2)))  # type: ignore[arg-type]  # the error is the point


@pytest.mark.parametrize("repeat", [True, False])
def test_an_empty_list_ends_also_when_it_repeats(repeat: bool) -> None:
    assert list(uniform_id_generator([], repeat=repeat)) == []
