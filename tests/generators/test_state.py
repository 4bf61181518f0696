"""The state of a generator, read from memory or by public ways, and never moved."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from detloader.generators.looks import digest_draws
from detloader.generators.memory import pieces_of
from detloader.generators.state import follow, is_generator, read_state
from detloader.generators.witness import DrawWitness, names_of_stored

MAKE: dict[str, Callable[[int], Any]] = {
    "python": random.Random,
    "numpy": np.random.RandomState,
    "legacy PCG64": lambda seed: np.random.RandomState(np.random.PCG64(seed)),
    "PCG64": np.random.default_rng,
    "Philox": lambda seed: np.random.Generator(np.random.Philox(seed)),
    "MT19937": lambda seed: np.random.Generator(np.random.MT19937(seed)),
    "torch": lambda seed: torch.Generator().manual_seed(seed),
    "bits": np.random.PCG64,
}

MOVES: dict[str, dict[str, Callable[[Any], object]]] = {
    "python": {
        "one": lambda g: g.random(),
        "normal": lambda g: g.gauss(0, 1),
        "block": lambda g: [g.random() for _ in range(312)],
    },
    "torch": {
        "one": lambda g: torch.rand(1, generator=g),
        "normal": lambda g: torch.randn(1, generator=g),
        "block": lambda g: torch.rand(624, generator=g),
    },
    "bits": {
        "one": lambda g: g.random_raw(),
        "normal": lambda g: np.random.Generator(g).standard_normal(),
        "block": lambda g: g.random_raw(312),
    },
}
OF_NUMPY: dict[str, Callable[[Any], object]] = {
    "one": lambda g: g.uniform(),
    "normal": lambda g: g.standard_normal(),
    "block": lambda g: g.uniform(size=312),
}


def draws_of(witness: DrawWitness, rows: int, stored: int = 0) -> Any:
    return digest_draws([(rows, witness.looks(rows))], 4 + stored)


def moves_of(kind: str) -> dict[str, Callable[[Any], object]]:
    return MOVES.get(kind, OF_NUMPY)


def public_state(generator: Any) -> str:
    if isinstance(generator, random.Random):
        return str(generator.getstate())
    if isinstance(generator, torch.Generator):
        return str(generator.get_state().tolist())
    with np.printoptions(threshold=10_000):
        if isinstance(generator, np.random.RandomState):
            return str(generator.get_state(legacy=False))
        return str(getattr(generator, "bit_generator", generator).state)


@given(
    kind=st.sampled_from(sorted(MAKE)),
    seed=st.integers(0, 2**32 - 1),
    moves=st.lists(st.sampled_from(["one", "normal", "block"]), max_size=6),
)
def test_states_are_equal_where_the_generators_are_and_differ_after_every_draw(
    kind: str, seed: int, moves: list[str]
) -> None:
    one, other = MAKE[kind](seed), MAKE[kind](seed)
    seen = {read_state(one)}
    for number, move in enumerate(moves, 1):
        moves_of(kind)[move](one)
        seen.add(read_state(one))
        assert len(seen) == number + 1
        moves_of(kind)[move](other)
        before = public_state(other)
        assert read_state(other) == read_state(one)
        assert public_state(other) == before
        assert len(read_state(other)) == 32


@pytest.mark.parametrize("kind", ["python", "numpy", "torch"])
def test_mersenne_twisters_are_read_where_they_lie_in_memory(kind: str) -> None:
    assert pieces_of(MAKE[kind](1)).read is None


@given(
    kind=st.sampled_from(sorted(MAKE)),
    seed=st.integers(0, 2**32 - 1),
    moves=st.lists(st.sampled_from(["one", "normal", "block", None]), min_size=1, max_size=8),
)
def test_a_draw_is_seen_at_the_sample_that_took_it_and_digested_alike_for_copies(
    kind: str, seed: int, moves: list[str | None]
) -> None:
    found = []
    for _ in range(2):
        generator = MAKE[kind](seed)
        witness = DrawWitness({"": [generator]}, ["[0]"])
        witness.begin()
        for move in moves:
            if move is not None:
                moves_of(kind)[move](generator)
            witness.look()
        witness.look()
        draws = draws_of(witness, len(moves), stored=1)
        assert not draws[:, [0, 1, 2, 4]].any()
        found.append(draws[:, 3].tolist())

    assert found[0] == found[1]
    assert [draw != 0 for draw in found[0]] == [move is not None for move in moves]
    taken = [draw for draw in found[0] if draw]
    assert len(set(taken)) == len(taken)


@pytest.mark.parametrize(
    ("column", "draw"),
    [
        (0, random.random),
        (1, np.random.normal),
        (2, lambda: torch.rand(1)),
    ],
    ids=["python", "numpy", "torch"],
)
def test_the_global_generators_are_watched(column: int, draw: Callable[[], object]) -> None:
    witness = DrawWitness({}, [])
    witness.begin()
    draw()
    witness.look()
    witness.look()

    assert np.flatnonzero(draws_of(witness, 1)[0]).tolist() == [column]


@given(
    batches=st.lists(
        st.lists(st.sampled_from(["one", "normal", None]), min_size=1, max_size=3),
        min_size=1,
        max_size=6,
    )
)
def test_draws_of_many_batches_are_those_of_each(batches: list[list[str | None]]) -> None:
    stored = {"held": [random.Random(1), np.random.default_rng(2)]}
    witness = DrawWitness(stored, names_of_stored(stored))
    looks = []
    for moves in batches:
        witness.begin()
        for number, move in enumerate(moves):
            if move is not None:
                generator = stored["held"][number % 2]
                moves_of("python" if isinstance(generator, random.Random) else "")[move](generator)
            witness.look()
        witness.look()
        looks.append((len(moves), witness.looks(len(moves))))

    together = digest_draws(looks, 6)

    assert together.tolist() == [row for look in looks for row in digest_draws([look], 6).tolist()]
    drawn = [move is not None for moves in batches for move in moves]
    assert together.any(axis=1).tolist() == drawn


@pytest.mark.parametrize("kind", ["python", "numpy", "torch"])
@given(amounts=st.lists(st.integers(0, 900), min_size=2, max_size=2))
def test_a_sample_that_seeds_a_generator_has_the_same_draws_after_any_other(
    kind: str, amounts: list[int]
) -> None:
    seeds = {
        "python": lambda g: g.seed(7),
        "numpy": lambda g: g.seed(7),
        "torch": lambda g: g.manual_seed(7),
    }
    found = []
    for amount in amounts:
        generator = MAKE[kind](5)
        witness = DrawWitness({"": [generator]}, ["[0]"])
        witness.begin()
        for _ in range(amount):
            moves_of(kind)["one"](generator)
        witness.look()
        seeds[kind](generator)
        moves_of(kind)["one"](generator)
        witness.look()
        witness.look()
        found.append(draws_of(witness, 2, stored=1)[1, 3])

    assert found[0] == found[1] != 0


def test_samples_that_are_not_those_of_the_rows_are_told() -> None:
    generator = random.Random(1)
    witness = DrawWitness({"": [generator]}, [])
    witness.begin()
    for _ in range(3):
        generator.random()
        witness.look()
    witness.look()

    with pytest.raises(ValueError, match="3 samples were made for 2 records"):
        witness.looks(2)


def test_a_draw_of_the_batch_is_that_of_all_its_rows() -> None:
    witness = DrawWitness({}, [])
    witness.begin()
    for _ in range(3):
        witness.look()
    random.random()
    witness.look()

    draws = draws_of(witness, 3)[:, 0]

    assert draws.all()
    assert len(set(draws.tolist())) == 1


def test_generators_without_a_column_share_the_last_one() -> None:
    generator = random.Random(3)
    witness = DrawWitness({"held": [generator]}, [])
    witness.begin()
    generator.random()
    witness.look()
    witness.look()

    assert np.flatnonzero(draws_of(witness, 1)[0]).tolist() == [3]


def test_a_generator_that_is_the_programs_is_not_also_the_holders() -> None:
    holders = {"": [np.random.mtrand._rand, torch.default_generator, random.Random(1)]}

    assert names_of_stored(holders) == ["[2]"]


@pytest.mark.parametrize("kind", sorted(MAKE))
def test_a_generator_that_is_made_with_the_first_sample_is_watched_from_there(kind: str) -> None:
    make = MAKE[kind]
    found = []
    for seed in (1, 1, 2):
        holder: dict[str, Any] = {"old": make(0)}
        witness = DrawWitness({"": holder}, ["['rng']"])
        witness.begin()
        holder["rng"] = make(seed)
        for _ in range(2):
            moves_of(kind)["one"](holder["rng"])
            witness.look()
        witness.look()
        found.append(draws_of(witness, 2, stored=1)[:, 3].tolist())

    assert all(draw for draws in found for draw in draws)
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("kind", sorted(MAKE))
@given(sizes=st.lists(st.integers(1, 3), min_size=1, max_size=5))
def test_a_generator_that_is_made_for_each_sample_is_seen_in_no_other_than_the_first(
    kind: str, sizes: list[int]
) -> None:
    holder: dict[str, Any] = {"rng": MAKE[kind](0), "kept": MAKE[kind](1)}
    witness = DrawWitness({"": holder}, ["['rng']", "['kept']"])
    found = []
    for size in sizes:
        witness.begin()
        for _ in range(size):
            holder["rng"] = MAKE[kind](2)
            for generator in holder.values():
                moves_of(kind)["one"](generator)
            witness.look()
        witness.look()
        found.append(draws_of(witness, size, stored=2))
    replaced, kept = np.concatenate(found)[:, 3:5].T

    assert np.flatnonzero(replaced).tolist() == ([0] if sizes[0] == 1 else [])
    assert kept.all()


def test_bits_are_seen_whichever_generator_is_made_of_them() -> None:
    holder: dict[str, Any] = {"rng": None, "bits": np.random.PCG64(3)}
    witness = DrawWitness({"": holder}, ["['bits']"])
    for _ in range(4):
        witness.begin()
        for _ in range(3):
            holder["rng"] = np.random.Generator(holder["bits"])
            holder["rng"].random()
            witness.look()
        witness.look()

        assert draws_of(witness, 3, stored=1).any(axis=1).all()


def test_a_generator_that_is_taken_from_a_list_for_each_sample_is_seen() -> None:
    pool = [random.Random(seed) for seed in range(3)]
    holder: dict[str, Any] = {"pool": pool, "rng": pool[0]}
    witness = DrawWitness({"": holder}, ["['rng']"])
    for _ in range(4):
        witness.begin()
        for place in range(5):
            holder["rng"] = pool[place % 3]
            holder["rng"].random()
            witness.look()
        witness.look()

        assert draws_of(witness, 5, stored=1).any(axis=1).all()


def test_what_went_wrong_is_said_when_the_draws_are_asked_for() -> None:
    class Broken(random.Random):
        def getstate(self) -> Any:
            raise OSError("gone")

        @property
        def gauss_next(self) -> Any:
            raise OSError("gone")

        @gauss_next.setter
        def gauss_next(self, value: Any) -> None:
            pass

    witness = DrawWitness({"": [Broken()]}, [])
    witness.begin()
    witness.look()

    with pytest.raises(OSError, match="gone"):
        witness.looks(1)


def test_the_systems_own_entropy_has_no_state() -> None:
    assert not is_generator(random.SystemRandom())


def state_of_bits(bits: Any) -> Any:
    return np.frombuffer(read_state(bits), np.uint64)[None]


SEEDS = st.integers(0, 2**64)


@given(seed=SEEDS, before=st.integers(0, 2**100), draws=st.integers(0, 2**32 - 1))
def test_a_state_follows_from_each_before_it_and_from_none_behind_it(
    seed: int, before: int, draws: int
) -> None:
    bits = np.random.PCG64(seed).advance(before)
    earlier = state_of_bits(bits)
    later = state_of_bits(bits.advance(draws))

    assert follow(earlier, later).all()
    assert follow(later, earlier).all() == (draws == 0)


@given(seed=SEEDS, other=SEEDS)
def test_a_state_follows_from_none_of_another_seed(seed: int, other: int) -> None:
    states = (state_of_bits(np.random.PCG64(each)) for each in (seed, other))

    assert follow(*states).all() == (seed == other)


@pytest.mark.parametrize("kind", ["Philox", "MT19937"])
def test_of_generators_that_do_not_show_it_all_states_follow(kind: str) -> None:
    states = (np.frombuffer(read_state(MAKE[kind](seed)), np.uint64)[None] for seed in (1, 2))

    assert follow(*states).all()
