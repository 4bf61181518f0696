"""Datasets that TensorFlow iterates by itself: within functions, and reduced."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import tensorflow as tf

from detloader import name, open_run, record, record_all
from detloader.manifest.verify import verify_run


def numbers(stream: str = "train", count: int = 12) -> Any:
    return name(tf.data.Dataset.range(count).shuffle(count, seed=1).batch(4), stream)


def values(run: Path, column: str, stream: str = "train") -> list[Any]:
    return open_run(run).streams[stream].table([column])[column].to_pylist()


def add(total: Any, batch: Any) -> Any:
    return total + tf.reduce_sum(batch)


@tf.function  # type: ignore[untyped-decorator]  # TensorFlow has no types
def total_of(dataset: Any) -> Any:
    total = tf.constant(0, tf.int64)
    for batch in dataset:
        total += tf.reduce_sum(batch)
    return total


def test_a_dataset_given_to_a_function_is_recorded_as_declared(tmp_path: Path) -> None:
    train = numbers()
    with record_all(tmp_path / "run"):
        assert [int(total_of(train)) for _ in range(2)] == [66, 66]
    stream = verify_run(tmp_path / "run").streams["train"]

    assert values(tmp_path / "run", "epoch") == [0] * 12 + [1] * 12
    assert values(tmp_path / "run", "batch") == ([0] * 4 + [1] * 4 + [2] * 4) * 2
    assert (stream.declared.shuffle, stream.declared.batch_size) == (True, 4)
    assert stream.complete


def test_datasets_of_one_function_are_streams_of_their_own(tmp_path: Path) -> None:
    with record_all(tmp_path / "run"):
        total_of(numbers())
        total_of(numbers("valid", 8))
    streams = open_run(tmp_path / "run").streams

    assert {stream: streams[stream].rows for stream in streams} == {"train": 12, "valid": 8}


class Splits(NamedTuple):
    step: int
    train: Any


@pytest.mark.parametrize(
    ("nested", "train_of"),
    [
        (lambda train: {"train": [train]}, lambda data: data["train"][0]),
        (lambda train: OrderedDict(b=train, a=1), lambda data: data["b"]),
        (lambda train: Splits(1, train), lambda data: data.train),
        (lambda train: [(1, Splits(1, train))], lambda data: data[0][1].train),
    ],
)
def test_datasets_in_nested_arguments_are_recorded(
    nested: Callable[[Any], Any], train_of: Callable[[Any], Any], tmp_path: Path
) -> None:
    @tf.function  # type: ignore[untyped-decorator]  # TensorFlow has no types
    def epoch(data: Any) -> Any:
        return total_of(train_of(data))

    with record_all(tmp_path / "run"):
        epoch(nested(numbers()))

    assert open_run(tmp_path / "run").rows == 12


def test_arguments_that_tensorflow_refuses_are_refused_in_its_words(tmp_path: Path) -> None:
    with record_all(tmp_path / "run"), pytest.raises(TypeError, match="not supported between"):
        total_of({1: numbers(), "two": 2})


def test_a_dataset_given_to_a_concrete_function_is_recorded_at_each_call(tmp_path: Path) -> None:
    train = numbers()
    total = total_of.get_concrete_function(train)

    with record_all(tmp_path / "run"):
        assert [int(total(train)), int(total(dataset=train))] == [66, 66]
        traced_within = total_of.get_concrete_function(numbers("valid"))
        traced_within(numbers("valid"))
    total(train)

    assert values(tmp_path / "run", "epoch") == [0] * 12 + [1] * 12
    assert values(tmp_path / "run", "epoch", "valid") == [0] * 12


def test_a_dataset_that_a_function_holds_and_gives_to_another_is_recorded(tmp_path: Path) -> None:
    train = numbers()

    @tf.function  # type: ignore[untyped-decorator]  # TensorFlow has no types
    def epoch() -> Any:
        return total_of(train)

    for run in ("a", "b"):
        with record_all(tmp_path / run):
            epoch(), epoch()
    epoch()

    assert values(tmp_path / "a", "epoch") == [0] * 12 + [1] * 12
    assert values(tmp_path / "b", "epoch") == [0] * 12 + [1] * 12


def test_a_function_finds_its_own_datasets_in_each_session_anew(tmp_path: Path) -> None:
    tf.random.set_seed(1)
    train, valid = numbers(), numbers("valid", 8)

    @tf.function  # type: ignore[untyped-decorator]  # TensorFlow has no types
    def epoch() -> Any:
        total = tf.constant(0, tf.int64)
        for batch in train:
            for other in valid:
                total += tf.reduce_sum(other)
            total += tf.reduce_sum(batch)
            if total > 100:
                break
        return total

    for run in ("a", "b"):
        with record_all(tmp_path / run):
            epoch()
        epoch()

    for run in ("a", "b"):
        assert len(values(tmp_path / run, "record")) == 12
        assert values(tmp_path / run, "epoch", "valid") == [0] * 8 + [1] * 8 + [2] * 8
        assert open_run(tmp_path / run).complete


def test_what_is_reduced_is_recorded(tmp_path: Path) -> None:
    train = numbers()
    reduce = tf.function(lambda dataset: dataset.reduce(np.int64(0), add))
    with record_all(tmp_path / "run"):
        assert int(train.reduce(np.int64(0), add)) == 66
        assert int(reduce(train)) == 66

    assert values(tmp_path / "run", "epoch") == [0] * 12 + [1] * 12


def test_an_iterator_made_within_a_function_is_recorded(tmp_path: Path) -> None:
    train = numbers()
    first = tf.function(lambda: next(iter(train)))
    with record_all(tmp_path / "run"):
        first()

    assert len(values(tmp_path / "run", "record")) == 4


def test_a_dataset_that_others_read_is_a_part_of_them(tmp_path: Path) -> None:
    other = numbers("other")
    mapped = tf.data.Dataset.range(3).map(lambda _: other.reduce(np.int64(0), add))
    with record_all(tmp_path / "run"):
        assert [int(total) for total in name(mapped, "mapped")] == [66, 66, 66]
        again = tf.data.Dataset.range(3).map(lambda _: other.reduce(np.int64(0), add))
        assert [int(total) for total in name(again, "again")] == [66, 66, 66]

    assert set(open_run(tmp_path / "run").streams) == {"mapped", "again"}


def test_a_dataset_made_within_a_function_is_refused_by_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    @tf.function  # type: ignore[untyped-decorator]  # TensorFlow has no types
    def epoch() -> Any:
        total = tf.constant(0, tf.int64)
        for number in tf.data.Dataset.range(4):
            total += number
        return total

    with caplog.at_level(logging.WARNING, "detloader"), record_all(tmp_path / "run"):
        assert int(epoch()) == 6

    assert "a dataset within a tf.function, which test_tensorflow_loops.py:" in caplog.text
    assert not (tmp_path / "run").exists()


def drawn(run: Path | None) -> list[Any]:
    """Draw from TensorFlow's generators before, in and after loops of functions traced anew."""
    tf.random.set_seed(1)
    train, valid = numbers(), numbers("valid", 8)

    @tf.function  # type: ignore[untyped-decorator]  # TensorFlow has no types
    def epoch(given: Any) -> Any:
        before = tf.random.uniform([])
        total = tf.constant(0.0)
        for batch in train:
            for other in given:
                total += tf.random.uniform([]) * tf.cast(tf.reduce_sum(other), tf.float32)
            total += tf.random.uniform([]) * tf.cast(tf.reduce_sum(batch), tf.float32)
        return before, total, tf.random.uniform([]), train.reduce(np.int64(0), add)

    def loop() -> list[Any]:
        found = [np.asarray(value).item() for _ in range(2) for value in epoch(valid)]
        return [*found, epoch.experimental_get_tracing_count(), float(tf.random.uniform([]))]

    if run is None:
        return loop()
    with record_all(run):
        recorded = loop()
    assert open_run(run).rows == 2 * (12 + 12 + 24)
    return recorded


@pytest.mark.filterwarnings("ignore:Seed 1 from outer graph")  # TensorFlow's, of what is drawn here
def test_functions_draw_what_they_draw_without_recording(tmp_path: Path) -> None:
    assert drawn(tmp_path / "run") == drawn(None)


def test_an_iterator_that_is_never_used_leaves_no_stream(tmp_path: Path) -> None:
    with record_all(tmp_path / "run"):
        unused = iter(numbers("unused"))
        assert [*name(tf.data.Dataset.range(0), "empty")] == []
        assert int(total_of(numbers("used"))) == 66
        del unused

    assert {*open_run(tmp_path / "run").streams} == {"used", "empty"}


def failing(stream: str) -> Any:
    def read() -> Any:
        yield from (1, 2)
        raise ValueError("three")

    spec = tf.TensorSpec((), tf.int64)
    return name(tf.data.Dataset.from_generator(read, output_signature=spec), stream)


def captured(dataset: Any) -> None:
    @tf.function  # type: ignore[untyped-decorator]  # TensorFlow has no types
    def loop() -> None:
        for _ in dataset:
            pass

    loop()


WAYS = {
    "function": total_of,
    "captured": captured,
    "reduce": lambda dataset: dataset.reduce(np.int64(0), add),
    "reduce in a function": tf.function(lambda dataset: dataset.reduce(np.int64(0), add)),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_breaks_off_where_tensorflow_iterates_is_a_part(way: str, tmp_path: Path) -> None:
    with record_all(tmp_path / "run"):
        total_of(numbers("whole"))
        train = failing("train")
        with pytest.raises(tf.errors.InvalidArgumentError, match="three"):
            WAYS[way](train)
        total_of(numbers("later"))
    run = open_run(tmp_path / "run")

    assert values(tmp_path / "run", "epoch") == [0, 0]
    assert {stream: run.streams[stream].complete for stream in run.streams} == {
        "whole": True,
        "train": False,
        "later": True,
    }


def test_a_step_that_takes_the_end_breaks_nothing_off(tmp_path: Path) -> None:
    single = name(tf.data.Dataset.range(1), "train")

    @tf.function  # type: ignore[untyped-decorator]  # TensorFlow has no types
    def two() -> Any:
        iterator = iter(single)
        return next(iterator) + next(iterator)

    with record_all(tmp_path / "run"), pytest.raises(tf.errors.OutOfRangeError):
        two()

    assert values(tmp_path / "run", "record")


def test_a_twin_that_is_reduced_and_raises_is_a_part(tmp_path: Path) -> None:
    twin = record(failing("train"), tmp_path / "run", stream="train")
    with pytest.raises(tf.errors.InvalidArgumentError, match="three"):
        twin.reduce(np.int64(0), add)
    twin.close()

    assert not open_run(tmp_path / "run").complete
    assert values(tmp_path / "run", "epoch") == [0, 0]
