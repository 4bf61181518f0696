from __future__ import annotations

import random
from collections import Counter
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detloader.errors import UsageError
from detloader.order.interleave import (
    OlderInterleave,
    fitting_partition_counts,
    fitting_remainders,
    older_random_id_generator,
    oversampling,
)
from detloader.order.partition import contiguous_floor
from detloader.order.schedule import uniform_id_generator

if TYPE_CHECKING:
    from collections.abc import Sequence

sizes = st.integers(1, 80)
workers = st.integers(1, 90)
seeds = st.integers(0, 2**32)
merges = st.sampled_from(["random", "round_robin"])


def older(
    ids: Sequence[int],
    num_workers: int,
    *,
    seed: int = 0,
    merge: Literal["random", "round_robin"] = "random",
    samples_per_id: dict[int, int] | None = None,
) -> OlderInterleave[int]:
    return OlderInterleave(
        ids,
        id_generator=iter,
        num_workers=num_workers,
        samples_per_id=samples_per_id.__getitem__ if samples_per_id else None,
        merge=merge,
        rng=random.Random(seed),
    )


def naive_fit(order: list[int], size: int) -> list[int]:
    """The rule as it is written: the subsequence of each part is the part."""
    return [
        count
        for count in range(2, size + 1)
        if sorted(order) == list(range(count * (size // count)))
        and all(
            [position for position in order if position in part] == list(part)
            for part in contiguous_floor(size, count)
        )
    ]


# --- the model -----------------------------------------------------------------


@given(size=sizes, num_workers=workers, seed=seeds, merge=merges)
def test_exactly_the_tail_is_dropped(
    size: int, num_workers: int, seed: int, merge: Literal["random", "round_robin"]
) -> None:
    loader = older(range(size), num_workers, seed=seed, merge=merge)

    delivered = list(loader)

    tail = size % min(num_workers, size)
    assert sorted(delivered) == list(range(size - tail))
    assert loader.dropped == list(range(size - tail, size))


@given(size=sizes, num_workers=workers, seed=seeds, merge=merges)
def test_each_part_keeps_its_own_order(
    size: int, num_workers: int, seed: int, merge: Literal["random", "round_robin"]
) -> None:
    loader = older(range(size), num_workers, seed=seed, merge=merge)

    delivered = list(loader)

    for part in loader.parts:
        assert [record for record in delivered if record in part] == part


@given(size=sizes, num_workers=workers)
def test_round_robin_takes_from_the_parts_in_turn(size: int, num_workers: int) -> None:
    loader = older(range(size), num_workers, merge="round_robin")

    assert list(loader) == [record for row in zip(*loader.parts, strict=True) for record in row]


@given(size=sizes, seed=seeds)
def test_one_worker_keeps_order_and_drops_nothing(size: int, seed: int) -> None:
    assert list(older(range(size), 1, seed=seed)) == list(range(size))


@given(counts=st.lists(st.integers(0, 5), min_size=1, max_size=20), num_workers=workers, seed=seeds)
def test_samples_of_one_id_stay_together_within_their_part_only(
    counts: list[int], num_workers: int, seed: int
) -> None:
    samples = dict(enumerate(counts))
    loader = older(range(len(counts)), num_workers, seed=seed, samples_per_id=samples)

    delivered = list(loader)

    for part in loader.parts:
        expected = [record for record in part for _ in range(samples[record])]
        assert [record for record in delivered if record in part] == expected


def test_samples_of_different_parts_interleave() -> None:
    loader = older([0, 1], 2, merge="round_robin", samples_per_id={0: 3, 1: 2})

    assert list(loader) == [0, 1, 0, 1, 0]


def test_a_merge_depends_on_its_generator_and_on_no_other() -> None:
    before = random.getstate()

    first, again, other = (list(older(range(200), 4, seed=seed)) for seed in (1, 1, 2))

    assert first == again != other
    assert list(OlderInterleave(range(200), id_generator=iter)) != list(
        OlderInterleave(range(200), id_generator=iter)
    )
    assert random.getstate() == before


def test_shuffles_stay_within_their_part_and_build_on_each_other() -> None:
    shuffled = partial(uniform_id_generator, repeat=False, rng=random.Random(5))
    ids = list(range(10))
    loader = OlderInterleave(
        ids, id_generator=shuffled, num_workers=2, merge="round_robin", rng=random.Random(5)
    )
    # Round robin opens the parts in turn, so each pass shuffles the first part first.
    expected, rng = [list(range(5)), list(range(5, 10))], random.Random(5)

    for _ in range(3):
        delivered = list(loader)
        for part in expected:
            rng.shuffle(part)
        assert [delivered[0::2], delivered[1::2]] == expected

    assert ids == list(range(10))


def test_duplicated_ids_collapse_to_the_parts_they_fall_in() -> None:
    loader = older([0, 0, 1, 2, 3], 4)

    assert loader.parts == [[0], [0], [1], [2]]
    assert loader.dropped == [3]


def test_weights_change_nothing_and_the_dropped_tail_is_never_drawn() -> None:
    def deliver(weights: object) -> list[int]:
        rng = random.Random(7)
        draws = partial(older_random_id_generator, weights=weights, rng=rng)
        loader = OlderInterleave(range(10), id_generator=draws, rng=rng)
        return list(islice(loader, 4_000))

    unweighted = deliver(None)

    assert deliver([0, 100]) == deliver([-1] * 10) == unweighted
    assert set(unweighted) == set(range(8))
    assert all(380 < count < 620 for count in Counter(unweighted).values())


def test_repeating_parts_have_equal_shares_whatever_they_hold() -> None:
    samples = dict(enumerate([1, 1, 1, 1, 7, 7, 7, 7]))
    rng = random.Random(1)
    loader = OlderInterleave(
        range(8),
        id_generator=partial(uniform_id_generator, rng=rng),
        num_workers=2,
        samples_per_id=samples.__getitem__,
        rng=rng,
    )

    shares = Counter(islice(loader, 20_000))

    factors = oversampling(list(samples.values()), 2)
    for record, count in samples.items():
        assert shares[record] / 20_000 == pytest.approx(factors[record] * count / 32, rel=0.1)


@pytest.mark.parametrize(("ids", "num_workers"), [([], 4), ([1, 2], 0), ([1, 2], -1)])
def test_what_the_older_loader_failed_on_is_refused(ids: list[int], num_workers: int) -> None:
    with pytest.raises(UsageError, match=r"ids is empty|num_workers is"):
        older(ids, num_workers)


# --- oversampling --------------------------------------------------------------


def test_known_oversampling_factors_hold() -> None:
    assert oversampling([1, 1, 1, 1, 7, 7, 7, 7], 2).tolist() == [4.0] * 4 + [4 / 7] * 4
    assert oversampling([1] * 10, 4).tolist() == [1.25] * 8 + [0.0] * 2
    assert oversampling([0, 0, 3, 3], 2).tolist() == [0.0, 0.0, 1.0, 1.0]


@given(samples=st.lists(st.integers(1, 50), min_size=1, max_size=40), parts=workers)
def test_shares_after_oversampling_sum_to_the_whole_stream(samples: list[int], parts: int) -> None:
    shares = oversampling(samples, parts) * samples / sum(samples)

    assert shares.sum() == pytest.approx(1)


# --- recognition ---------------------------------------------------------------


@given(size=st.integers(2, 80), num_workers=st.integers(2, 90), seed=seeds, merge=merges)
def test_the_planted_worker_count_is_found(
    size: int, num_workers: int, seed: int, merge: Literal["random", "round_robin"]
) -> None:
    order = list(older(range(size), num_workers, seed=seed, merge=merge))

    fits = fitting_partition_counts(np.array(order), size)

    assert min(num_workers, size) in fits
    assert fits == naive_fit(order, size)
    assert set(fits) <= set(fitting_remainders(size - len(order), size))


@given(order=st.lists(st.integers(0, 9), max_size=10), size=st.integers(1, 12))
def test_recognition_agrees_with_the_rule_on_any_log(order: list[int], size: int) -> None:
    assert fitting_partition_counts(np.array(order, np.int64), size) == naive_fit(order, size)


@given(
    order=st.integers(1, 10).flatmap(lambda n: st.permutations(range(n))), extra=st.integers(0, 5)
)
def test_recognition_agrees_with_the_rule_on_any_permutation(order: list[int], extra: int) -> None:
    size = len(order) + extra

    assert fitting_partition_counts(np.array(order), size) == naive_fit(order, size)


@pytest.mark.parametrize(
    ("order", "size", "expected"),
    [
        ([2, 3, 0, 1, 6, 4, 7, 5], 10, [4, 8]),
        ([4, 5, 6, 7, 0, 1, 2, 3], 9, [2, 4, 8]),
        (list(older(range(10), 4)), 10, [4, 8]),
        (list(older(range(23), 4, seed=3)), 23, [4, 20]),
        ([0, 1, 2, 3, 4, 5], 6, [2, 3, 6]),
        ([0, 1, 2], 10, []),
        ([0, 0, 1, 1], 5, []),
        ([], 5, []),
        ([5, 4, 3, 2, 1, 0], 6, [6]),
    ],
)
def test_known_orders_fit_the_known_worker_counts(
    order: list[int], size: int, expected: list[int]
) -> None:
    assert fitting_partition_counts(np.array(order, np.int64), size) == expected


@given(size=st.integers(0, 200), tail=st.integers(0, 200))
def test_remainders_are_those_of_the_division(size: int, tail: int) -> None:
    tail = min(tail, size)

    expected = [count for count in range(2, size + 1) if size % count == tail]
    assert fitting_remainders(tail, size) == expected


def test_a_long_order_is_recognised() -> None:
    size = 1_000_003
    order = np.arange(1_000_000).reshape(5, -1).T.ravel()

    assert 5 in fitting_partition_counts(order, size)
