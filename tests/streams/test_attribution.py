"""Marks that travel with elements change nothing, and stay with their elements."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detloader import create_interleaved_dataset_from_generator, record
from detloader.tensorflow.attributed import AttributedDataset
from tests.support.loaders import rows_of
from tests.support.streams import stream

SPEC = {"x": tf.TensorSpec((2, 3), tf.float32), "id": tf.TensorSpec((), tf.int64)}

FEW = settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def read(ids: Iterable[int]) -> Iterator[dict[str, Any]]:
    for number in ids:
        yield {"x": np.full((2, 3), number, np.float64) / 7, "id": number}


def noisy(element: dict[str, Any]) -> dict[str, Any]:
    return {"x": element["x"] + tf.random.uniform([]), "id": element["id"]}


def repeated(number: int) -> Callable[[Any], Any]:
    return lambda element: tf.data.Dataset.from_tensors(element).repeat(number % 3)


OPERATIONS: dict[str, Callable[[Any, int], Any]] = {
    "batch": lambda data, n: data.batch(n % 4 + 1, drop_remainder=n % 2 == 0),
    "batch in parallel": lambda data, n: data.batch(n % 4 + 1, num_parallel_calls=2),
    "cache": lambda data, _: data.cache(),
    "enumerate and back": lambda data, n: data.enumerate(n).map(lambda _, element: element),
    "filter": lambda data, n: data.filter(lambda e: tf.reduce_sum(e["id"]) % 3 != n % 3),
    "flat_map": lambda data, n: data.flat_map(repeated(n)),
    "interleave": lambda data, n: data.interleave(repeated(n), cycle_length=n % 3 + 1),
    "map": lambda data, _: data.map(noisy),
    "map in parallel": lambda data, _: data.map(lambda e: e | {"x": e["x"] * 2}, 2),
    "padded_batch": lambda data, n: data.padded_batch(n % 3 + 1),
    "prefetch": lambda data, n: data.prefetch(n % 3),
    "rebatch": lambda data, n: data.rebatch(n % 4 + 1),
    "repeat": lambda data, n: data.repeat(n % 3 + 1),
    "shard": lambda data, n: data.shard(n % 3 + 1, n % 3 % (n % 3 + 1)),
    "shuffle": lambda data, n: data.shuffle(n + 1),
    "shuffle with a seed": lambda data, n: data.shuffle(n + 1, seed=n),
    "skip": lambda data, n: data.skip(n % 5),
    "take": lambda data, n: data.take(n),
    "unbatch": lambda data, _: data.unbatch(),
}

chains = st.lists(st.tuples(st.sampled_from(sorted(OPERATIONS)), st.integers(0, 9)), max_size=4)


def applied(dataset: Any, chain: list[tuple[str, int]]) -> Any:
    for name, number in chain:
        dataset = OPERATIONS[name](dataset, number)
    return dataset


def regroups(chain: list[tuple[str, int]]) -> bool:
    names = [name for name, _ in chain]
    batched = next((i for i, name in enumerate(names) if "batch" in name), len(names))
    return any(re.search("batch|flat_map|interleave", name) for name in names[batched + 1 :])


def delivered(dataset: Any) -> list[dict[str, Any]]:
    return [
        {name: leaf.tolist() for name, leaf in element.items()}
        for element in dataset.as_numpy_iterator()
    ]


def outcome(source: Callable[[], Any], chain: list[tuple[str, int]], seed: int) -> Any:
    """Return all that a user sees of a pipeline, errors by their kind."""
    tf.random.set_seed(seed)
    try:
        dataset = applied(source(), chain)
        passes = [delivered(dataset), delivered(dataset)]
    except (tf.errors.OpError, ValueError, TypeError) as error:
        return type(error)
    return dataset.element_spec, int(dataset.cardinality()), passes


@given(chain=chains, size=st.integers(0, 12), seed=st.integers(0, 9))
@FEW
def test_elements_order_and_draws_are_those_of_a_plain_dataset(
    chain: list[tuple[str, int]], size: int, seed: int
) -> None:
    def plain() -> Any:
        return tf.data.Dataset.from_generator(lambda: read(range(size)), output_signature=SPEC)

    def ours() -> Any:
        return create_interleaved_dataset_from_generator(read, iter, range(size), SPEC)

    assert outcome(ours, chain, seed) == outcome(plain, chain, seed)


@given(chain=chains, size=st.integers(1, 12), seed=st.integers(0, 9))
@FEW
def test_recording_changes_nothing_and_knows_whose_each_sample_is(
    chain: list[tuple[str, int]], size: int, seed: int, tmp_path_factory: Any
) -> None:
    twins = []

    def ours() -> Any:
        return create_interleaved_dataset_from_generator(read, iter, range(size), SPEC)

    def twin() -> Any:
        dataset = applied(ours(), chain)
        # Where batches are regrouped or taken apart nobody knows any more.
        knows = isinstance(dataset, AttributedDataset)
        assert knows or regroups(chain)
        twins.append((dataset.mark_rank if knows else 2, record(dataset, run)))
        return twins[-1][1]

    run = tmp_path_factory.mktemp("run") / "run"
    found = outcome(twin, [], seed)
    assert found == outcome(ours, chain, seed)
    for rank, recorded in twins:
        recorded.close()
        steps = [] if isinstance(found, type) else [*found[2][0], *found[2][1]]
        seen = [number for step in steps for number in np.ravel(step["id"]).tolist()]
        if rank <= 1 and seen:
            assert rows_of(run, "record") == seen


def dropping(dataset: Any) -> Any:
    return dataset.map(lambda e: {"x": e["x"][:1], "id": e["id"][:1]})


def test_operations_that_are_not_known_give_a_plain_dataset() -> None:
    dataset = stream(range(6))

    assert not isinstance(dataset.window(2), AttributedDataset)
    assert isinstance(dataset.apply(lambda data: data.batch(2)), AttributedDataset)


def test_rows_that_a_function_of_a_batch_replaced_belong_to_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    batches = create_interleaved_dataset_from_generator(read, iter, range(6), SPEC).batch(3)

    with record(dropping(batches).unbatch(), tmp_path / "run") as twin:
        assert [element["id"] for element in delivered(twin)] == [0, 3]

    assert "give ids= to record" in caplog.text
    with record(dropping(batches).unbatch(), tmp_path / "ids", ids="id") as twin:
        delivered(twin)
    assert rows_of(tmp_path / "ids", "record") == [0, 3]


def test_a_whole_batch_is_made_of_samples_as_they_were_when_they_were_yielded() -> None:
    def reuse(ids: Iterable[int]) -> Iterator[Any]:
        buffer = np.zeros((2,), np.float32)
        for number in ids:
            buffer[:] = number
            yield buffer

    dataset = stream(range(4), data_generator=reuse, spec=tf.TensorSpec((2,), tf.float32))

    (batch,) = dataset.batch(4).as_numpy_iterator()
    assert batch.tolist() == [[number, number] for number in range(4)]


@pytest.mark.parametrize(
    ("spec", "samples"),
    [
        (tf.TensorSpec((), tf.float32), [1, 2.5, True, np.float64(3), np.array(4), None]),
        (tf.TensorSpec((), tf.uint8), [1, 255, np.int64(3), 2.9]),
        (tf.TensorSpec((), tf.string), ["a", b"b\x00", "", "ä", np.str_("c")]),
        (tf.TensorSpec((2,), tf.string), [["a", "bc"], np.array(["d", ""])]),
        (tf.TensorSpec((), tf.bool), [True, 0, np.bool_(True)]),
        (tf.TensorSpec((), tf.complex64), [1, 2j, np.complex128(3)]),
        (tf.TensorSpec((), tf.bfloat16), [1.5, 2, np.float32(3)]),
        (tf.TensorSpec((2, None), tf.int32), [[[1], [2]], np.ones((2, 1)), ((3,), (4,))]),
        (tf.TensorSpec(None, tf.string), ["a", "b"]),
        (tf.TensorSpec(None, tf.int16), [np.ones((2, 2)), [[1, 2], [3, 4]]]),
        ((tf.TensorSpec((), tf.int64), (tf.TensorSpec((1,), tf.float64),)), [(1, ([2],))]),
        ({"b": tf.TensorSpec((), tf.int8), "a": tf.TensorSpec((), tf.int8)}, [{"a": 1, "b": 2}]),
    ],
)
def test_samples_become_the_tensors_that_from_generator_makes(
    spec: Any, samples: list[Any]
) -> None:
    plain = tf.data.Dataset.from_generator(lambda: iter(samples), output_signature=spec)
    ours = stream([0], data_generator=lambda _: iter(samples), spec=spec)

    for one, other in [(ours, plain), (ours.batch(2), plain.batch(2))]:
        assert one.element_spec == other.element_spec
        for found, expected in zip(one, other, strict=True):
            for leaf, wanted in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
                assert leaf.dtype == wanted.dtype
                np.testing.assert_array_equal(leaf.numpy(), wanted.numpy())


@pytest.mark.parametrize("drop_remainder", [True, False])
def test_batches_are_specified_as_tensorflow_s_own(drop_remainder: bool) -> None:
    plain = tf.data.Dataset.from_generator(lambda: read(range(5)), output_signature=SPEC)
    ours = create_interleaved_dataset_from_generator(read, iter, range(5), SPEC)

    one, other = (data.batch(2, drop_remainder=drop_remainder) for data in (ours, plain))

    assert one.element_spec == other.element_spec
    assert int(one.cardinality()) == int(other.cardinality())
    assert delivered(one) == delivered(other)


@pytest.mark.parametrize("size", [3, 2**40])
def test_a_batch_may_be_larger_than_all_samples(size: int) -> None:
    dataset = create_interleaved_dataset_from_generator(read, iter, range(3), SPEC)

    (batch,) = delivered(dataset.batch(size))

    assert batch["id"] == [0, 1, 2]


def test_ragged_samples_are_left_to_tensorflow(tmp_path: Path) -> None:
    spec = tf.RaggedTensorSpec((2, None), tf.int32)

    def ragged(ids: Iterable[int]) -> Iterator[Any]:
        for number in ids:
            yield tf.ragged.constant([[number], []], tf.int32)

    dataset = stream(range(3), data_generator=ragged, spec=spec).batch(2)

    with record(dataset, tmp_path / "run") as twin:
        assert [batch.to_list() for batch in twin] == [
            [[[0], []], [[1], []]],
            [[[2], []]],
        ]
    assert rows_of(tmp_path / "run", "record") == [0, 1, 2]


def test_padding_treats_the_sample_and_not_the_mark(tmp_path: Path) -> None:
    def grow(ids: Iterable[int]) -> Iterator[Any]:
        for number in ids:
            yield np.full(number, number), number

    spec = tf.TensorSpec((None,), tf.int64), tf.TensorSpec((), tf.int64)
    plain = tf.data.Dataset.from_generator(lambda: grow([1, 3, 2]), output_signature=spec)
    ours = stream([1, 3, 2], data_generator=grow, spec=spec)
    one = np.int64(-1)

    choices: list[dict[str, Any]] = [
        {},
        {"padded_shapes": ([4], [])},
        {"padding_values": (one, one)},
        {"padding_values": one, "padded_shapes": ([None], []), "drop_remainder": True},
    ]
    for options in choices:
        pairs = zip(ours.padded_batch(2, **options), plain.padded_batch(2, **options), strict=True)
        for found, expected in pairs:
            assert [leaf.numpy().tolist() for leaf in found] == [
                leaf.numpy().tolist() for leaf in expected
            ]
    with record(ours.padded_batch(2), tmp_path / "run") as twin:
        list(twin)
    assert rows_of(tmp_path / "run", "record") == [1, 3, 2]


def test_a_cache_in_a_file_is_the_plain_one(tmp_path: Path) -> None:
    dataset = stream(range(3)).cache(str(tmp_path / "cache"))

    assert not isinstance(dataset, AttributedDataset)
    assert [int(n) for n in dataset] == [int(n) for n in dataset] == [0, 1, 2]


def test_within_tensorflow_s_own_functions_the_dataset_is_a_plain_one() -> None:
    dataset = stream(range(5)).batch(2)

    def total() -> Any:
        result = tf.constant(0, tf.int64)
        for batch in dataset:
            result += tf.reduce_sum(batch)
        return result

    def first_of(iterator: Any) -> Any:
        return next(iterator)

    assert int(tf.function(total)()) == 10
    assert tf.function(first_of)(iter(dataset)).numpy().tolist() == [0, 1]
    assert int(dataset.reduce(np.int64(0), lambda sum_, batch: sum_ + tf.reduce_sum(batch))) == 10
