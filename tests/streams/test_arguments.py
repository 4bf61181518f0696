"""Arguments of the wrong kind are refused when they are given, in one line that says the mend."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from datasets import Dataset as Records

from detloader import (
    create_interleaved_dataset_from_generator,
    name,
    random_id_generator,
    to_grain,
    to_tf_dataset,
    to_torch_loader,
    uniform_id_generator,
)
from detloader.errors import UsageError

GENERATORS: list[Any] = [random_id_generator, uniform_id_generator]
SPEC = tf.TensorSpec((), tf.int32)


def interleaved(**arguments: Any) -> Any:
    given: dict[str, Any] = {
        "data_generator": lambda ids: (int(each) for each in ids),
        "id_generator": iter,
        "ids": [1, 2],
        "spec": SPEC,
    }
    return create_interleaved_dataset_from_generator(**{**given, **arguments})


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(UsageError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("rng", [5, "x", object])
def test_what_draws_nothing_is_no_rng(generator: Any, rng: Any) -> None:
    assert "give a random.Random, or a seed" in refused(lambda: generator([1, 2], rng=rng))


def test_weights_need_a_generator_that_draws_by_weight() -> None:
    rng: Any = np.random.default_rng(0)

    assert next(random_id_generator([7], rng=rng)) == 7
    assert "no choices" in refused(lambda: random_id_generator([7], [1.0], rng=rng))


@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("seed", ["a", 1.5, True, [1]])
def test_a_seed_is_an_integer(generator: Any, seed: Any) -> None:
    assert "give an integer" in refused(lambda: generator([1, 2], seed=seed))


def test_integers_of_numpy_are_seeds() -> None:
    draws = [random_id_generator(range(99), seed=seed) for seed in (5, np.int32(5))]  # type: ignore[arg-type]

    assert [next(draws[0]) for _ in range(9)] == [next(draws[1]) for _ in range(9)]
    assert next(random_id_generator(range(99), seed=5)) == random.Random(5).choice(range(99))


@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("ids", [5, None, {1, 2}, {"a": 1}, iter([1])])
def test_ids_to_draw_from_have_places(generator: Any, ids: Any) -> None:
    assert "give a list" in refused(lambda: generator(ids))


@pytest.mark.parametrize(
    "spec",
    [None, 5, tf.int32, np.int32, {"a": 5}, (SPEC, None), (), {}],
    ids=["none", "number", "type", "NumPy type", "in a dict", "in a tuple", "no leaf", "no key"],
)
def test_a_specification_holds_specifications(spec: Any) -> None:
    assert "spec must be a structure of tf.TensorSpec" in refused(lambda: interleaved(spec=spec))
    said = refused(lambda: to_tf_dataset([1], spec))
    assert said.startswith("output_signature must be a structure of tf.TensorSpec")


@pytest.mark.parametrize("argument", ["data_generator", "id_generator", "ids"])
@pytest.mark.parametrize("value", [5, None])
def test_readers_and_schedules_are_functions_and_ids_a_list(argument: str, value: Any) -> None:
    assert refused(lambda: interleaved(**{argument: value})).startswith(f"{argument} is ")


@pytest.mark.parametrize("dataset", [5, None])
def test_what_cannot_be_iterated_is_no_dataset(dataset: Any) -> None:
    assert "give what can be iterated" in refused(lambda: to_tf_dataset(dataset, SPEC))
    assert "give what can be iterated" in refused(lambda: to_torch_loader(dataset))


@pytest.mark.parametrize("source", [5, None, {1, 2}, iter([1])])
def test_a_source_has_a_length_and_places(source: Any) -> None:
    assert "integer indexing" in refused(lambda: to_grain(source))


def test_a_transform_is_a_function() -> None:
    transform: Any = 5

    assert "transform is 5" in refused(lambda: to_grain([1], seed=0, transform=transform))


def test_a_name_is_text_and_a_list_has_no_place_for_one() -> None:
    stream: Any = 5

    assert "names no stream" in refused(lambda: name(to_grain([1]), stream))
    assert "a list cannot be named" in refused(lambda: name([1], "train"))


class Rows:
    """Read by index alone, as a map-style data set of Torch's is."""

    def __getitem__(self, index: int) -> int:
        return index


class OnesOwn:
    """A loader of no framework's."""

    def __iter__(self) -> Iterator[int]:
        return iter([1, 2])


@pytest.mark.parametrize(
    "loader",
    [
        (i for i in "ab"),
        map(str, "ab"),
        frozenset("ab"),
        deque("ab"),
        chain("ab"),
        Rows(),
        Rows,
        OnesOwn(),
        np.arange(3),
        Records.from_dict({"id": [1, 2]}),
    ],
    ids=lambda loader: type(loader).__name__,
)
def test_what_is_never_recorded_by_itself_cannot_be_named(loader: Any) -> None:
    said = refused(lambda: name(loader, "train"))

    assert "cannot be named, for no program is recorded to iterate it: name a loader of" in said


@pytest.mark.parametrize("stream", ["train loader", "../x", "a/b", "", "x" * 101, "é", ".", "CON"])
def test_a_name_that_no_stream_can_have_is_refused_when_it_is_given(stream: str) -> None:
    assert "cannot name a folder" in refused(lambda: name(to_grain([1]), stream))


@pytest.mark.parametrize("value", [object(), {"deeper": [object()]}, "\ud800"])
def test_what_no_header_can_hold_is_refused_when_it_is_declared(value: Any) -> None:
    declared = {"config": {"x": value}}

    assert "cannot be written as JSON" in refused(
        lambda: name(to_grain([1]), "train", declared=declared)
    )


@pytest.mark.parametrize("preprocess", [5, "x", []])
def test_preprocess_is_a_function(preprocess: Any) -> None:
    assert refused(lambda: interleaved(preprocess=preprocess)).startswith("preprocess is ")
