from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from grain._src.python.experimental.index_shuffle.python import index_shuffle_module
from hypothesis import given
from hypothesis import strategies as st

from detloader.errors import UsageError
from detloader.order.permutation import RecordOrder, permute

SEEDS = (0, 1, 42, 2**32 - 1)
SIZES = (2, 3, 10, 255, 256, 257, 1000, 16_384, 16_385, 65_535, 65_536, 65_538, 100_003)
LARGE_SIZES = (262_144, 262_146, 10**6, 2**20, 2**31, 2**33 + 5)
SIZES_WITHOUT_PUBLISHED_PERMUTATION = (65_537, 262_145, 1_048_577)


def sampled_positions(size: int) -> np.ndarray:
    if size <= 64:
        return np.arange(size)
    chosen = np.random.default_rng(size).integers(0, size, 200)
    return np.concatenate([chosen, [0, 1, size - 2, size - 1]])


def published(positions: np.ndarray, size: int, seed: int) -> list[int]:
    return [
        index_shuffle_module.index_shuffle(int(p), max_index=size - 1, seed=seed, rounds=4)
        for p in positions
    ]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("size", SIZES + LARGE_SIZES)
def test_order_is_that_of_grain(size: int, seed: int) -> None:
    positions = sampled_positions(size)

    assert permute(positions, size, seed).tolist() == published(positions, size, seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("size", SIZES + SIZES_WITHOUT_PUBLISHED_PERMUTATION)
def test_compatibility_gives_the_order_of_grain_at_every_size(size: int, seed: int) -> None:
    positions = sampled_positions(size)

    order = permute(positions, size, seed, compatibility="published")

    assert order.tolist() == published(positions, size, seed)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (1, [0]),
        (10, [0, 4, 6, 7, 8, 3, 1, 9, 5, 2]),
        (11, [0, 4, 10, 7, 8, 3, 1, 9, 5, 2, 6]),
    ],
)
def test_known_orders_of_seed_zero_hold(size: int, expected: list[int]) -> None:
    assert permute(np.arange(size), size, 0).tolist() == expected


@pytest.mark.parametrize("size", [65_537, 262_145])
def test_a_pass_has_every_record_once_where_the_published_one_has_not(size: int) -> None:
    ours = permute(np.arange(size), size, 7)
    theirs = permute(np.arange(size), size, 7, compatibility="published")

    assert np.array_equal(np.sort(ours), np.arange(size))
    assert size - 1 not in theirs
    assert len(np.unique(theirs)) == size - 1


@given(size=st.integers(1, 40_000), seed=st.integers(0, 2**32 - 1))
def test_a_pass_is_a_permutation_at_every_size(size: int, seed: int) -> None:
    order = permute(np.arange(size), size, seed)

    assert np.array_equal(np.sort(order), np.arange(size))


@given(data=st.data(), size=st.integers(1, 100_000), seed=st.integers(0, 2**32 - 1))
def test_each_position_can_be_asked_alone(data: st.DataObject, size: int, seed: int) -> None:
    positions = data.draw(st.lists(st.integers(0, size - 1), max_size=20))

    order = permute(np.array(positions, np.int64), size, seed)

    assert order.tolist() == permute(np.arange(size), size, seed)[positions].tolist()


@given(seed=st.integers(0, 2**40))
def test_seeds_count_modulo_two_to_the_32(seed: int) -> None:
    positions = np.arange(20)

    assert np.array_equal(permute(positions, 20, seed), permute(positions, 20, seed % 2**32))


@pytest.mark.parametrize("position", [-1, 10])
def test_a_position_outside_the_pass_is_refused(position: int) -> None:
    with pytest.raises(UsageError, match=r"range\(10\)"):
        permute(np.array([0, position]), 10, 0)


orders = st.builds(
    RecordOrder,
    st.integers(1, 60),
    seed=st.none() | st.integers(0, 2**32 - 1),
    num_epochs=st.integers(3, 5),
)


@given(order=orders, cuts=st.lists(st.integers(0, 180), max_size=6))
def test_indices_are_the_same_under_any_cuts(order: RecordOrder, cuts: list[int]) -> None:
    whole = order.indices(0, order.size * 3)
    edges = sorted({0, order.size * 3, *(min(cut, order.size * 3) for cut in cuts)})

    pieces = [order.indices(a, b) for a, b in pairwise(edges)]

    assert np.array_equal(np.concatenate(pieces), whole)


@given(order=orders, start=st.integers(0, 50), length=st.integers(0, 130))
def test_indices_do_not_depend_on_what_was_asked_before(
    order: RecordOrder, start: int, length: int
) -> None:
    stop = min(start + length, order.size * 3)
    start = min(start, stop)
    fresh = pickle.loads(pickle.dumps(order)).indices(start, stop)  # noqa: S301 - our own bytes
    order.indices(order.size, order.size * 2)

    assert np.array_equal(order.indices(start, stop), fresh)


@given(size=st.integers(1, 30), seed=st.integers(0, 2**32 - 1), epoch=st.integers(0, 3))
def test_an_epoch_is_the_permutation_of_seed_plus_epoch(size: int, seed: int, epoch: int) -> None:
    order = RecordOrder(size, seed=seed, num_epochs=None)

    indices = order.indices(epoch * size, (epoch + 1) * size)

    assert np.array_equal(indices, permute(np.arange(size), size, (seed + epoch) % 2**32))


def test_blocks_of_a_long_epoch_join_without_a_seam() -> None:
    order = RecordOrder(65_537, seed=5, num_epochs=2)

    across = order.indices(16_380, 65_540)

    first, second = (permute(np.arange(65_537), 65_537, seed) for seed in (5, 6))
    assert np.array_equal(across, np.concatenate([first, second])[16_380:65_540])


def test_compatibility_reaches_the_blocks() -> None:
    published_order = RecordOrder(65_537, seed=5, num_epochs=1, compatibility="published")

    assert 65_536 not in published_order.indices(0, 65_537)


def test_without_a_seed_every_pass_is_in_source_order() -> None:
    order = RecordOrder(3, seed=None, num_epochs=None)

    assert order.indices(0, 7).tolist() == [0, 1, 2, 0, 1, 2, 0]


def test_the_last_seed_goes_over_into_seed_zero() -> None:
    last = RecordOrder(10, seed=2**32 - 1, num_epochs=2)

    assert last.indices(10, 20).tolist() == [0, 4, 6, 7, 8, 3, 1, 9, 5, 2]


@pytest.mark.parametrize(
    ("size", "num_epochs", "total"), [(10, 3, 30), (10, None, None), (0, 3, 0), (0, None, 0)]
)
def test_total_counts_positions(size: int, num_epochs: int | None, total: int | None) -> None:
    assert RecordOrder(size, seed=0, num_epochs=num_epochs).total == total


def test_epochs_are_counted_from_zero() -> None:
    order = RecordOrder(3, seed=0, num_epochs=None)

    assert order.epoch_of(np.arange(7)).tolist() == [0, 0, 0, 1, 1, 1, 2]


@pytest.mark.parametrize("seed", [None, 0])
def test_an_empty_source_gives_an_empty_stream(seed: int | None) -> None:
    order = RecordOrder(0, seed=seed, num_epochs=None)

    assert order.indices(0, 0).tolist() == []
    assert order.epoch_of(order.indices(0, 0)).tolist() == []


def test_the_callers_copy_can_be_changed_without_harm() -> None:
    order = RecordOrder(10, seed=0, num_epochs=1)

    order.indices(0, 10)[:] = -1

    assert order.indices(0, 10).tolist() == [0, 4, 6, 7, 8, 3, 1, 9, 5, 2]


def test_pickles_carry_no_blocks() -> None:
    order = RecordOrder(100_000, seed=0, num_epochs=1)
    before = pickle.dumps(order)
    order.indices(0, 1)

    assert pickle.dumps(order) == before
    assert pickle.loads(before) == order  # noqa: S301 - our own bytes


def test_threads_that_share_an_order_all_read_it_right() -> None:
    order = RecordOrder(40_000, seed=3, num_epochs=3)
    expected = RecordOrder(40_000, seed=3, num_epochs=3).indices(0, 120_000)
    starts = range(0, 120_000, 500)

    with ThreadPoolExecutor(8) as threads:
        pieces = list(threads.map(lambda start: order.indices(start, start + 500), starts))

    assert np.array_equal(np.concatenate(pieces), expected)


@pytest.mark.parametrize(("start", "stop"), [(-1, 3), (3, 2), (0, 31)])
def test_positions_outside_the_stream_are_refused(start: int, stop: int) -> None:
    with pytest.raises(UsageError, match="do not lie in the stream"):
        RecordOrder(10, seed=0, num_epochs=3).indices(start, stop)


@pytest.mark.parametrize(("size", "num_epochs"), [(-1, 1), (10, 0)])
def test_lengths_that_no_stream_has_are_refused(size: int, num_epochs: int) -> None:
    with pytest.raises(UsageError, match=r"size is -1|num_epochs is 0"):
        RecordOrder(size, seed=0, num_epochs=num_epochs)
