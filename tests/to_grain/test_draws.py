"""The generators that transforms get, and the count of what they drew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detloader import randomness
from detloader.randomness import PositionGenerator, digest_draws, stream_key

METHODS: dict[str, Callable[[np.random.Generator], Any]] = {
    "random": lambda rng: rng.random(3),
    "random float32": lambda rng: rng.random(3, np.float32),
    "normal": lambda rng: rng.normal(size=5),
    "standard_normal float32": lambda rng: rng.standard_normal(5, np.float32),
    "integers": lambda rng: rng.integers(0, 1000, 3),
    "integers uint32": lambda rng: rng.integers(0, 2**32, 3, np.uint32),
    "integers uint8": lambda rng: rng.integers(0, 255, 5, np.uint8),
    "integers of 64 bits": lambda rng: rng.integers(0, 2**63, 3),
    "bytes": lambda rng: rng.bytes(7),
    "permutation": lambda rng: rng.permutation(9),
    "permuted": lambda rng: rng.permuted(np.arange(9)),
    "choice": lambda rng: rng.choice(9, 4, replace=False),
    "weighted choice": lambda rng: rng.choice(3, 4, p=[0.2, 0.3, 0.5]),
    "exponential": lambda rng: rng.exponential(size=3),
    "gamma": lambda rng: rng.gamma(0.5, size=3),
    "beta": lambda rng: rng.beta(0.5, 2.0, 3),
    "poisson": lambda rng: rng.poisson(30, 3),
    "binomial": lambda rng: rng.binomial(40, 0.3, 3),
    "uniform": lambda rng: rng.uniform(-1, 1, 3),
    "multinomial": lambda rng: rng.multinomial(9, [0.2, 0.8]),
    "dirichlet": lambda rng: rng.dirichlet([0.1, 0.2]),
}

# Written down once: runs on disk hold such digests for ever.
GOLDEN = ["e7d472c375b6e375", "b25357427c1c3cde", "30374813b0217b2a", "8b239c5d6de9a428"]

POSITIONS = (0, 1, 12_345, 2**40)


def fresh(seed: int, position: int) -> np.random.Generator:
    key = np.random.SeedSequence(seed).generate_state(2, np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, position]))


@pytest.mark.parametrize("method", METHODS)
def test_draws_are_those_of_a_fresh_generator(method: str) -> None:
    generator = PositionGenerator(11)

    for position in (*POSITIONS, *reversed(POSITIONS)):
        generator.reset(position)
        expected = METHODS[method](fresh(11, position))
        assert np.array_equal(METHODS[method](generator.generator), expected)


@given(
    seed=st.integers(0, 2**32 - 1),
    visits=st.lists(
        st.tuples(st.integers(0, 2**63 - 1), st.lists(st.sampled_from(sorted(METHODS))))
    ),
)
def test_what_was_drawn_before_does_not_matter(
    seed: int, visits: list[tuple[int, list[str]]]
) -> None:
    generator = PositionGenerator(seed)

    for position, methods in visits:
        generator.reset(position)
        other = fresh(seed, position)
        for method in methods:
            ours, theirs = METHODS[method](generator.generator), METHODS[method](other)
            assert np.array_equal(ours, theirs)


@given(position=st.integers(0, 2**63 - 1), widths=st.lists(st.sampled_from([32, 64]), max_size=40))
def test_words_are_counted_in_halves(position: int, widths: list[int]) -> None:
    generator = PositionGenerator(0)
    generator.reset(position)
    raw = generator.generator

    # A half-word waits for the next half-word, while whole words pass it by.
    whole, halves = 0, 0
    for width in widths:
        raw.integers(0, 2**width, dtype=np.uint32 if width == 32 else np.uint64)
        whole += width == 64
        halves += width == 32
        assert generator.taken() == 2 * whole + halves


def test_nothing_drawn_counts_as_nothing() -> None:
    generator = PositionGenerator(0)
    generator.generator.random(1000)

    generator.reset(5)

    assert generator.taken() == 0


@given(
    seed=st.integers(0, 2**32 - 1),
    position=st.integers(0, 2**63 - 1),
    methods=st.lists(st.sampled_from(sorted(METHODS)), max_size=6),
)
def test_both_ways_to_the_generator_s_state_agree(
    seed: int, position: int, methods: list[str]
) -> None:
    assert randomness._memory_layout_is_known()
    ways = []
    for access in (randomness._memory_access, randomness._state_access):
        bits = np.random.Philox(key=stream_key(seed))
        rng = np.random.Generator(bits)
        reset, taken = access(bits)
        rng.integers(0, 9, 3, np.uint32)
        reset(position)
        drawn = [METHODS[method](rng) for method in methods]
        ways.append((taken(), [np.asarray(value).tobytes() for value in drawn]))

    assert ways[0] == ways[1]


@pytest.mark.parametrize("access", [randomness._memory_access, randomness._state_access])
def test_a_reset_undoes_whatever_was_done_to_the_generator(access: Any) -> None:
    bits = np.random.Philox(key=stream_key(3))
    reset, taken = access(bits)
    bits.advance(2**200 + 2**100 + 5)
    bits.state = np.random.Philox(99).state

    reset(8)

    assert taken() == 0
    assert np.random.Generator(bits).random() == fresh(3, 8).random()


def test_golden_digests_of_draws_hold() -> None:
    digests = digest_draws(
        stream_key(0), np.array([0, 1, 1, 2**40]), np.array([2, 2, 3, 1], np.uint32)
    )

    assert [f"{digest:016x}" for digest in digests.tolist()] == GOLDEN


def test_another_seed_position_or_count_is_another_digest() -> None:
    positions = np.repeat(np.arange(100), 10)
    taken = np.tile(np.arange(10, dtype=np.uint32), 100)

    digests = np.concatenate(
        [digest_draws(stream_key(seed), positions, taken) for seed in range(20)]
    )

    assert len(np.unique(digests)) == len(digests)
