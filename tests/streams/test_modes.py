"""`create_interleaved_dataset_from_generator`, clause by clause (HI-1 to HI-13)."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, count, islice
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detloader import (
    StreamMode,
    create_interleaved_dataset_from_generator,
    random_id_generator,
    uniform_id_generator,
)
from detloader.errors import UsageError
from detloader.order.partition import contiguous
from tests.support.streams import NUMBER, as_list, expand, numbers, stream

FEW = settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])

MODES = ["global", "finite"]


def refuse(*_: Any) -> Any:
    pytest.fail("nobody may call this")


@pytest.mark.parametrize("mode", [None, "global", StreamMode.GLOBAL])
def test_hi_01_the_mode_is_global_unless_another_is_named(mode: Any) -> None:
    options = {} if mode is None else {"stream_mode": mode}

    draws = stream([1, 2], id_generator=partial(random_id_generator, seed=0), **options)

    assert len(as_list(draws.take(5))) == 5


@pytest.mark.parametrize("mode", ["repeated", "GLOBAL", None, 1])
def test_hi_01_another_mode_is_refused_by_name(mode: Any) -> None:
    with pytest.raises(UsageError, match="stream_mode must be one of global, finite"):
        stream([1], stream_mode=mode)


def test_hi_01_a_mode_is_its_own_text() -> None:
    assert [*StreamMode] == ["global", "finite"]
    assert str(StreamMode.FINITE) == "finite" == StreamMode("finite")


@pytest.mark.parametrize("workers", [0, -1, 1.5, 2.0, True, None, "4"])
@pytest.mark.parametrize("mode", [*MODES, "no mode"])
@pytest.mark.parametrize("ids", [[], [1, 2]])
def test_hi_02_a_worker_count_that_is_none_is_refused_before_all_else(
    workers: Any, mode: str, ids: list[int]
) -> None:
    with pytest.raises(ValueError, match="num_workers must be a positive integer"):
        stream(ids, num_workers=workers, stream_mode=mode, id_generator=refuse)


@pytest.mark.parametrize("workers", [1, np.int64(3), 99])
def test_hi_02_any_integer_from_one_is_a_worker_count(workers: Any) -> None:
    assert as_list(stream([1, 2], num_workers=workers, stream_mode="finite")) == [1, 2]


@pytest.mark.parametrize("mode", MODES)
def test_hi_03_ids_are_read_once_when_the_dataset_is_made(mode: str) -> None:
    ids = [1, 2, 3]
    dataset = stream(ids, stream_mode=mode, preprocess=lambda number: number * 2)
    ids.clear()

    assert as_list(dataset) == as_list(dataset) == [2, 4, 6]
    assert as_list(stream(iter([3, 1]), stream_mode=mode)) == [3, 1]
    assert as_list(stream(np.array([3, 1]), stream_mode=mode)) == [3, 1]


@given(
    ids=st.lists(st.integers(0, 99), max_size=9),
    workers=st.integers(1, 8),
    deterministic=st.booleans(),
)
@FEW
def test_hi_04_global_mode_is_the_caller_s_own_schedule_whatever_the_workers(
    ids: list[int], workers: int, deterministic: bool
) -> None:
    def twice_and_backwards(given: list[int]) -> Iterator[int]:
        return chain(given, reversed(given))

    dataset = stream(
        ids,
        id_generator=twice_and_backwards,
        data_generator=expand(dict.fromkeys(range(100), 2)),
        num_workers=workers,
        deterministic=deterministic,
    )

    schedule = [*ids, *reversed(ids)]
    assert as_list(dataset) == [number for number in schedule for _ in range(2)]


@pytest.mark.parametrize("workers", [1, 2, 4, 8])
def test_hi_04_a_schedule_that_repeats_does_not_depend_on_the_workers(workers: int) -> None:
    reader = expand({0: 1, 1: 3, 2: 0, 3: 2})

    def draw(number: int) -> list[Any]:
        shuffled = partial(uniform_id_generator, rng=random.Random(5))
        return as_list(
            stream(
                [0, 0, 1, 2, 3],
                data_generator=reader,
                id_generator=shuffled,
                num_workers=number,
            ).take(55)
        )

    assert draw(workers) == draw(1)


@given(size=st.integers(1, 20), workers=st.integers(1, 25))
@FEW
def test_hi_05_finite_mode_cuts_the_ids_into_contiguous_parts_without_loss(
    size: int, workers: int
) -> None:
    parts: list[list[int]] = []

    def note(ids: list[int]) -> Iterator[int]:
        parts.append(ids)
        return iter(ids)

    dataset = stream(range(size), id_generator=note, num_workers=workers, stream_mode="finite")

    assert as_list(dataset) == list(range(size))
    assert parts == [list(part) for part in contiguous(size, workers)]
    lengths = [len(part) for part in parts]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] - lengths[-1] <= 1


@given(counts=st.lists(st.integers(0, 3), min_size=1, max_size=9), workers=st.integers(1, 8))
@FEW
def test_hi_06_finite_parts_one_after_another_give_the_global_order(
    counts: list[int], workers: int
) -> None:
    reader = expand(dict(enumerate(counts)))
    finite = stream(
        range(len(counts)), data_generator=reader, num_workers=workers, stream_mode="finite"
    )

    assert as_list(finite) == as_list(stream(range(len(counts)), data_generator=reader))


def test_hi_07_merged_parts_keep_their_own_order_and_lose_nothing() -> None:
    size, workers = 40, 4
    dataset = stream(range(size), num_workers=workers, stream_mode="finite", deterministic=False)

    for delivered in (as_list(dataset), as_list(dataset)):
        assert sorted(delivered) == list(range(size))
        for part in contiguous(size, workers):
            assert [number for number in delivered if number in part] == list(part)


def test_hi_07_a_part_that_waits_does_not_hold_the_others_up() -> None:
    others_came = threading.Event()

    def read(ids: Iterable[int]) -> Iterator[int]:
        for number in ids:
            if number == 0:
                others_came.wait(30)
            yield number

    dataset = stream(
        range(6), data_generator=read, num_workers=2, stream_mode="finite", deterministic=False
    )
    came = []
    for element in dataset:
        came.append(int(element))
        if came[-1] == 5:
            others_came.set()

    assert came == [3, 4, 5, 0, 1, 2]


@pytest.mark.parametrize("deterministic", [True, False])
def test_hi_08_workers_are_generators_of_this_process(deterministic: bool) -> None:
    begun: list[list[int]] = []

    def read(ids: Iterable[int]) -> Iterator[int]:
        mine: list[int] = []
        begun.append(mine)
        for number in ids:
            mine.append(number)
            yield number

    as_list(
        stream(
            range(7),
            data_generator=read,
            num_workers=3,
            stream_mode="finite",
            deterministic=deterministic,
        )
    )

    assert sorted(begun) == [[0, 1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("deterministic", [True, False])
def test_hi_09_no_ids_give_a_typed_dataset_without_elements(mode: str, deterministic: bool) -> None:
    spec = {"x": tf.TensorSpec((2, None), tf.float16), "y": (NUMBER,)}

    dataset = create_interleaved_dataset_from_generator(
        refuse, refuse, [], spec, refuse, stream_mode=mode, deterministic=deterministic
    )

    assert dataset.element_spec == spec
    assert list(dataset) == list(dataset.batch(2)) == list(dataset.repeat()) == []


@pytest.mark.parametrize("mode", MODES)
def test_hi_10_preprocess_gets_each_sample_as_the_reader_made_it(mode: str) -> None:
    class Sample:
        def __init__(self, number: int) -> None:
            self.number = number

    dataset = stream(
        [1, 2],
        data_generator=lambda ids: map(Sample, ids),
        preprocess=lambda sample: sample.number + 10,
        stream_mode=mode,
    )

    assert as_list(dataset) == [11, 12]
    assert as_list(stream([1, 2], stream_mode=mode)) == [1, 2]


@pytest.mark.parametrize("mode", MODES)
def test_hi_11_each_pass_has_a_fresh_list_of_the_ids(mode: str) -> None:
    def empty_from_the_end(ids: list[int]) -> Iterator[int]:
        while ids:
            yield ids.pop()

    dataset = stream([1, 2, 3], id_generator=empty_from_the_end, stream_mode=mode, num_workers=1)

    assert as_list(dataset) == as_list(dataset) == [3, 2, 1]
    assert as_list(dataset.repeat(2)) == [3, 2, 1, 3, 2, 1]


def test_hi_11_shuffles_of_every_pass_start_from_the_caller_s_order() -> None:
    shuffled = partial(uniform_id_generator, repeat=False, seed=4)
    dataset = stream(range(9), id_generator=shuffled)

    first = as_list(dataset)
    assert sorted(first) == list(range(9))
    assert first == as_list(dataset) != list(range(9))


def test_hi_12_nothing_is_batched_shuffled_or_read_ahead() -> None:
    read: list[int] = []

    def note(ids: Iterable[int]) -> Iterator[int]:
        for number in ids:
            read.append(number)
            yield number

    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    dataset = stream(range(50), data_generator=note).with_options(options)

    assert [int(number) for number in islice(dataset, 3)] == read == [0, 1, 2]
    read.clear()
    assert next(iter(dataset.batch(4))).numpy().tolist() == read == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "endless",
    [
        random_id_generator,
        uniform_id_generator,
        partial(random_id_generator, weights=[1, 1, 2]),
        partial(uniform_id_generator, shuffle=False),
        partial(partial(uniform_id_generator, seed=1), repeat=True),
    ],
)
def test_hi_13_a_generator_that_is_known_never_to_end_is_refused_by_the_call(endless: Any) -> None:
    with pytest.raises(UsageError, match=r'never ends.*stream_mode="global"'):
        stream([1, 2, 3], id_generator=endless, stream_mode="finite")


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("batched", [True, False])
def test_hi_13_a_part_that_repeats_is_refused_as_soon_as_it_shows(
    deterministic: bool, batched: bool
) -> None:
    def repeat(ids: list[int]) -> Iterator[int]:
        while True:
            yield from ids

    dataset = stream(
        range(4),
        id_generator=repeat,
        stream_mode="finite",
        num_workers=1,
        deterministic=deterministic,
    )
    iterator = iter(dataset.batch(5) if batched else dataset.skip(4))

    for _ in range(2):
        with pytest.raises(
            UsageError, match=r'more IDs than the 4 of part 0.*stream_mode="global"'
        ) as caught:
            next(iterator)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("mode", ["global", "finite"])
@pytest.mark.parametrize("deterministic", [True, False])
def test_hi_13_a_reader_that_asks_for_ever_is_refused(mode: str, deterministic: bool) -> None:
    def read(ids: Iterator[int]) -> Iterator[int]:
        while True:
            yield from ids

    dataset = stream(
        range(4),
        data_generator=read,
        stream_mode=mode,
        num_workers=2,
        deterministic=deterministic,
    )
    iterator = iter(dataset)

    with pytest.raises(UsageError, match="the data generator never ends"):
        list(iterator)


def test_hi_13_a_reader_may_fill_its_chunks_beyond_the_last_id() -> None:
    def read(ids: Iterator[int]) -> Iterator[int]:
        while chunk := [number for _ in range(1000) if (number := next(ids, None)) is not None]:
            yield from chunk

    assert as_list(stream(range(4), data_generator=read, stream_mode="finite")) == [0, 1, 2, 3]


def test_hi_13_ids_made_of_a_part_s_own_may_be_more_of_them() -> None:
    def windows(ids: list[int]) -> Iterator[tuple[int, int]]:
        return ((number, window) for number in ids for window in range(3))

    dataset = stream(
        range(4),
        id_generator=windows,
        preprocess=lambda visit: visit[0] * 10 + visit[1],
        stream_mode="finite",
        num_workers=2,
    )

    assert as_list(dataset) == [10 * number + window for number in range(4) for window in range(3)]


def test_hi_13_a_repeating_schedule_of_ones_own_is_fine_in_global_mode() -> None:
    dataset = stream([5, 7], id_generator=lambda ids: (ids[place % 2] for place in count()))

    assert Counter(as_list(dataset.take(100))) == {5: 50, 7: 50}


def test_ids_of_any_kind_are_read() -> None:
    ids = [(0, "a"), [1], {"n": 2}, np.array([3]), None, 4.5]

    assert as_list(stream(ids, data_generator=lambda given: (0 for _ in given))) == [0] * 6
    finite = stream(
        ids, data_generator=lambda given: (0 for _ in given), stream_mode="finite", num_workers=3
    )
    assert as_list(finite) == [0] * 6


def test_a_reader_that_yields_nothing_gives_no_elements() -> None:
    for mode in MODES:
        assert as_list(stream([1, 2], data_generator=lambda _: [], stream_mode=mode)) == []


def test_weights_are_checked_by_the_call() -> None:
    with pytest.raises(UsageError, match="weights has 2 values for 3 ids"):
        stream([1, 2, 3], id_generator=partial(random_id_generator, weights=[1, 1]))


def test_an_empty_list_that_repeats_ends() -> None:
    dataset = stream([1], id_generator=lambda _: uniform_id_generator([]))

    assert as_list(dataset) == []


def test_positional_arguments_are_the_published_ones() -> None:
    dataset = create_interleaved_dataset_from_generator(
        numbers, iter, [1, 2], NUMBER, lambda number: -number, 2
    )

    assert as_list(dataset) == [-1, -2]
