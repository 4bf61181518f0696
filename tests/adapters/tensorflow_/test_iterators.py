"""Iterators over recorded datasets: in loops, and as arguments of TensorFlow's functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from detloader import open_run, record
from tests.support.streams import stream

Take = Callable[[Any], Any]


def read(ids: Any) -> Iterator[dict[str, Any]]:
    for number in ids:
        yield {"x": np.full((2, 3), number, np.float32), "text": f"no. {number}"}


def attributed() -> Any:
    spec = {"x": tf.TensorSpec((2, 3), tf.float32), "text": tf.TensorSpec((), tf.string)}
    return stream(range(11), data_generator=read, spec=spec).batch(3)


def ragged() -> Any:
    def of_length(x: Any) -> Any:
        return {"long": tf.range(x % 4), "even": tf.sparse.from_dense([x % 2, x]), "none": None}

    dataset = tf.data.Dataset.range(11).map(of_length)
    return dataset.apply(tf.data.experimental.dense_to_ragged_batch(3))


DATASETS: dict[str, Callable[[], Any]] = {
    "numbers": lambda: tf.data.Dataset.range(11).shuffle(11, seed=3).batch(3),
    "single": lambda: tf.data.Dataset.range(11),
    "tuples with text": lambda: tf.data.Dataset.from_tensor_slices(
        (np.arange(22.0).reshape(11, 2), [*"abcdefghijk"])
    ).batch(3),
    "ragged, sparse and nothing": ragged,
    "with marks": attributed,
}


def in_python(iterator: Any) -> None:
    for _ in iterator:
        pass


def by_optionals(iterator: Any) -> None:
    while iterator.get_next_as_optional().has_value():
        pass


@tf.function  # type: ignore[untyped-decorator]  # TensorFlow has no types
def in_a_loop(iterator: Any) -> Any:
    count = tf.constant(0)
    for _ in iterator:
        count += 1
    return count


@tf.function  # type: ignore[untyped-decorator]
def one(iterator: Any) -> Any:
    return tf.nest.flatten(next(iterator), expand_composites=True)[0]


@tf.function  # type: ignore[untyped-decorator]
def one_by_name(iterator: Any) -> Any:
    return tf.nest.flatten(iterator.get_next(), expand_composites=True)[0]


@tf.function  # type: ignore[untyped-decorator]
def maybe_one(iterator: Any) -> Any:
    return iterator.get_next_as_optional().has_value()


@tf.function  # type: ignore[untyped-decorator]
def inner_and_outer(iterator: Any) -> Any:
    return one(iterator)


def until_the_end(step: Take) -> Take:
    def take(iterator: Any) -> None:
        try:
            while True:
                step(iterator)
        except tf.errors.OutOfRangeError:
            pass

    return take


def while_there_is_one(iterator: Any) -> None:
    while maybe_one(iterator):
        pass


def half_in_python(iterator: Any) -> None:
    next(iterator)
    in_a_loop(iterator)


def captured(iterator: Any) -> None:
    step = tf.function(lambda: next(iterator))
    until_the_end(lambda _: step())(iterator)


WAYS: dict[str, Take] = {
    "a loop of a function": in_a_loop,
    "a call for each": until_the_end(one),
    "a call for each, by name": until_the_end(one_by_name),
    "a function within a function": until_the_end(inner_and_outer),
    "optionals": by_optionals,
    "optionals of a function": while_there_is_one,
    "the first in Python": half_in_python,
    "captured": captured,
}


def rows(run: Path) -> Any:
    return open_run(run).streams["main"].table().to_pydict()


def recorded(make: Callable[[], Any], take: Take, run: Path) -> Any:
    with record(make(), run) as twin:
        for _ in range(2):
            take(iter(twin))
    assert open_run(run).complete
    return rows(run)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", DATASETS)
def test_elements_are_recorded_however_they_are_taken(name: str, way: str, tmp_path: Path) -> None:
    expected = recorded(DATASETS[name], in_python, tmp_path / "python")

    assert set(expected["epoch"]) == {0, 1}
    assert recorded(DATASETS[name], WAYS[way], tmp_path / "way") == expected


@pytest.mark.parametrize("name", DATASETS)
def test_optionals_hold_the_elements(name: str, tmp_path: Path) -> None:
    def taken(iterator: Any) -> Any:
        optionals = iter(iterator.get_next_as_optional, None)
        parts: list[Any] = []
        for optional in optionals:
            if not optional.has_value():
                return parts
            element = tf.nest.flatten(optional.get_value(), expand_composites=True)
            parts.append([np.asarray(p).tolist() for p in element if p is not None])
        return parts

    with record(DATASETS[name](), tmp_path / "run") as twin:
        assert taken(iter(twin)) == taken(iter(DATASETS[name]()))


def test_functions_draw_what_they_draw_without_recording(tmp_path: Path) -> None:
    @tf.function  # type: ignore[untyped-decorator]
    def noisy(iterator: Any) -> Any:
        return tf.random.uniform([]) + tf.cast(next(iterator), tf.float32) + tf.random.normal([])

    def totals(dataset: Any) -> list[float]:
        tf.random.set_seed(5)
        return [float(noisy(iter(dataset))) for _ in range(3)]

    bare = totals(tf.data.Dataset.range(7))
    with record(tf.data.Dataset.range(7), tmp_path / "run") as twin:
        assert totals(twin) == bare


def test_a_function_is_traced_once_for_all_recorded_iterators(tmp_path: Path) -> None:
    traced = []

    @tf.function  # type: ignore[untyped-decorator]
    def step(iterator: Any) -> Any:
        traced.append(1)
        return next(iterator)

    for run, start in (("a", 0), ("b", 100)):
        with record(tf.data.Dataset.range(start, start + 2), tmp_path / run, ids=int) as twin:
            for _ in range(3):
                until_the_end(step)(iter(twin))

    assert len(traced) == 1
    assert rows(tmp_path / "a")["record"] == [0, 1] * 3
    assert rows(tmp_path / "b")["record"] == [100, 101] * 3


def test_a_long_loop_of_a_function_is_recorded_in_its_order(tmp_path: Path) -> None:
    dataset = tf.data.Dataset.range(3000)
    with record(dataset, tmp_path / "run", ids=int) as twin:
        in_a_loop(iter(twin))

    assert rows(tmp_path / "run")["record"] == [*range(3000)]


@pytest.mark.parametrize("begun", [False, True])
def test_what_a_signature_hides_is_said_to_be_lost(
    begun: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    @tf.function(  # type: ignore[untyped-decorator]
        input_signature=[tf.data.IteratorSpec(tf.TensorSpec([], tf.int64))]
    )
    def step(iterator: Any) -> Any:
        return next(iterator)

    with record(tf.data.Dataset.range(5), tmp_path / "run") as twin:
        iterator = iter(twin)
        if begun:
            next(iterator)
        assert [int(step(iterator)), int(next(iterator))] == [begun, begun + 1]

    assert "input_signature" in caplog.text
    assert not open_run(tmp_path / "run").complete
    assert open_run(tmp_path / "run").rows == begun


def test_what_a_function_raises_breaks_nothing_that_was_recorded(tmp_path: Path) -> None:
    def fail_at_three(x: Any) -> Any:
        return tf.debugging.check_numerics(1 / tf.cast(x - 3, tf.float32), "three")

    failing = tf.data.Dataset.range(5).map(fail_at_three)
    raises = pytest.raises(tf.errors.InvalidArgumentError, match="three")
    with record(failing, tmp_path / "run") as twin, raises:
        in_a_loop(iter(twin))

    assert len(rows(tmp_path / "run")["record"]) == 3
