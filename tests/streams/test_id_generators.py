"""Generators of IDs and the global seed (HR-1 to HR-8), as far as a dataset shows them.

Their draws and weights are tested in tests/order/test_schedule.py.
"""

# ruff: noqa: NPY002  # the global generator is what is seeded

from __future__ import annotations

import random
import subprocess
import sys
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import torch

from detloader import random_id_generator, set_random_seed, uniform_id_generator
from detloader.errors import SampleError, UsageError
from tests.support.streams import as_list, stream


@pytest.fixture(autouse=True)
def _global_state() -> Any:
    states = random.getstate(), np.random.get_state()
    yield
    random.setstate(states[0])
    np.random.set_state(states[1])


def test_hr_01_draws_of_the_global_seed_zero_are_the_published_ones() -> None:
    set_random_seed(0)

    assert as_list(stream([10, 20], id_generator=random_id_generator).take(10)) == [
        20, 20, 10, 20, 20, 20, 20, 20, 20, 10,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "weights",
    [[1], [1, 2, 3], [-1, 2], [0, 0], [float("nan"), 1], [float("inf"), 1], [1e308, 1e308]],
)
def test_hr_02_wrong_weights_are_refused_when_the_dataset_is_made(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="weights"):
        stream([1, 2], id_generator=partial(random_id_generator, weights=weights))


@pytest.mark.parametrize("mass", [5e-324, 1, 1e308])
def test_hr_03_an_id_of_weight_zero_never_comes(mass: float) -> None:
    draws = partial(random_id_generator, weights=[0, mass, 0], seed=1)

    assert set(as_list(stream([1, 2, 3], id_generator=draws).take(500))) == {2}


def test_hr_04_weights_are_relative_and_no_quotas() -> None:
    drawn = islice(random_id_generator([0, 1], [0.1, 0.9], seed=2), 10_000)

    assert 8_500 < sum(drawn) < 9_500
    again = list(islice(random_id_generator([0, 1], [1, 9], seed=2), 100))
    assert again == list(islice(random_id_generator([0, 1], [0.1, 0.9], seed=2), 100))


def test_hr_05_weighted_and_unweighted_draws_are_unrelated_sequences() -> None:
    unweighted, weighted = (
        list(islice(random_id_generator(range(9), weights, seed=3), 50))
        for weights in (None, [1] * 9)
    )

    assert unweighted != weighted


def test_hr_06_no_ids_raise_at_the_first_draw() -> None:
    with pytest.raises(IndexError):
        next(random_id_generator([]))
    with pytest.raises(SampleError, match="the ID generator failed after record 1"):
        list(stream([1], id_generator=lambda _: _one_and_none()))


def _one_and_none() -> Any:
    yield 1
    yield from random_id_generator([])


def test_hr_07_each_cycle_shuffles_the_list_in_place_from_the_order_before() -> None:
    ids, expected = list(range(8)), list(range(8))
    rng = random.Random(6)
    cycles = uniform_id_generator(ids, rng=random.Random(6))

    for _ in range(3):
        rng.shuffle(expected)
        assert list(islice(cycles, 8)) == expected == ids


def test_hr_07_an_empty_list_ends_where_it_would_loop_for_ever() -> None:
    assert list(uniform_id_generator([], repeat=True)) == []


def test_a_seed_stands_for_a_generator_of_ones_own() -> None:
    for generator in (random_id_generator, uniform_id_generator):
        seeded = islice(generator([*range(9)], seed=4), 30)
        own = islice(generator([*range(9)], rng=random.Random(4)), 30)
        assert list(seeded) == list(own)


@pytest.mark.parametrize("generator", [random_id_generator, uniform_id_generator])
def test_seed_and_generator_together_are_refused_by_the_call(generator: Any) -> None:
    with pytest.raises(UsageError, match="rng or seed, not both"):
        generator([1], rng=random.Random(0), seed=0)


def test_a_seeded_schedule_leaves_the_global_generator_alone() -> None:
    before = random.getstate()

    shuffled = partial(uniform_id_generator, repeat=False, seed=1)
    assert sorted(as_list(stream(range(9), id_generator=shuffled))) == list(range(9))

    assert random.getstate() == before


def drawn() -> tuple[float, float, float, float]:
    return (
        random.random(),
        float(np.random.random()),
        float(tf.random.uniform([])),
        float(torch.rand(())),
    )


@pytest.mark.parametrize("seed", [0, 7, np.int64(7), 2**32 - 1])
def test_hr_08_one_seed_sets_every_global_generator_zero_among_them(seed: Any) -> None:
    assert set_random_seed(seed) == seed
    first = drawn()
    assert set_random_seed(seed) == seed

    assert drawn() == first
    random.seed(int(seed))
    assert random.random() == first[0]
    np.random.seed(int(seed))
    assert float(np.random.random()) == first[1]


def test_hr_08_without_a_seed_one_is_drawn_and_returned() -> None:
    random.seed(5)
    expected = random.randint(0, 2**16)
    random.seed(5)

    seed = set_random_seed()

    assert seed == expected
    first = drawn()
    set_random_seed(seed)
    assert drawn() == first


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, True, "0"])
def test_a_seed_that_is_none_is_refused(seed: Any) -> None:
    before = random.getstate()

    with pytest.raises(UsageError, match="seed must be an integer"):
        set_random_seed(seed)

    assert random.getstate() == before


def test_seeding_imports_no_framework() -> None:
    program = (
        "import sys; from detloader.utils import set_random_seed; set_random_seed(1)\n"
        "print({'tensorflow', 'torch', 'keras'} & set(sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert result.stdout.strip() == "set()"


@pytest.mark.parametrize("weights", [{10: 1, 20: 8}, {1, 8}, "18", 5, [1, None], [1, 10**400]])
def test_weights_without_an_order_or_a_number_are_refused(weights: Any) -> None:
    with pytest.raises(UsageError, match="weights"):
        random_id_generator([10, 20], weights)


def test_a_seed_gives_one_order_however_often_the_list_is_passed() -> None:
    ids = list(range(6))
    orders = [list(uniform_id_generator(ids, repeat=False, seed=0)) for _ in range(2)]

    assert orders[0] == orders[1] != ids
    assert ids == list(range(6))
    assert list(uniform_id_generator((1, 2, 3), repeat=False, seed=0)) != []  # type: ignore[arg-type]
