"""`record` around TensorFlow's datasets."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from detloader import (
    open_run,
    random_id_generator,
    record,
    to_grain,
    to_tf_dataset,
    uniform_id_generator,
)
from detloader.audits import check
from detloader.errors import UsageError
from detloader.manifest.content import batch_digests, sample_digest
from detloader.manifest.schema import Level
from tests.support.loaders import rows_of
from tests.support.results import loud_rules
from tests.support.streams import as_list, expand, stream


def declared_of(run: Path) -> Any:
    return open_run(run).streams["main"].declared


def columns_of(run: Path) -> set[str]:
    return set(open_run(run).streams["main"].columns)


AHEAD = {
    "range": lambda: tf.data.Dataset.range(50),
    "generator": lambda: stream(range(50)),
    "prefetched": lambda: stream(range(50)).prefetch(8),
    "mapped in parallel": lambda: stream(range(50)).map(lambda n: n, tf.data.AUTOTUNE),
    "without end": lambda: tf.data.Dataset.range(50).shuffle(9).repeat(),
    "interleaved": lambda: tf.data.Dataset.range(9).interleave(
        tf.data.Dataset.range, num_parallel_calls=2, deterministic=False
    ),
    "parts": lambda: stream(range(50), stream_mode="finite", deterministic=False),
}


@pytest.mark.parametrize("kind", AHEAD)
def test_what_is_read_ahead_is_not_recorded(kind: str, tmp_path: Path) -> None:
    with record(AHEAD[kind](), tmp_path / "run") as twin:
        taken = [number.numpy() for _, number in zip(range(3), twin, strict=False)]

    assert len(rows_of(tmp_path / "run", "record")) == len(taken) == 3


def test_each_iteration_is_the_next_epoch(tmp_path: Path) -> None:
    with record(stream([7, 8, 9]).batch(2), tmp_path / "run") as twin:
        iter(twin)  # begun, and never asked for anything
        list(twin)
        list(islice(twin, 1))
        list(twin)

    assert rows_of(tmp_path / "run", "record", "epoch", "batch") == [
        (7, 0, 0), (8, 0, 0), (9, 0, 1), (7, 1, 0), (8, 1, 0), (7, 2, 0), (8, 2, 0), (9, 2, 1),
    ]  # fmt: skip


@pytest.mark.parametrize("plain", [True, False])
def test_iterations_that_are_alive_at_once_are_told_apart(plain: bool, tmp_path: Path) -> None:
    dataset = tf.data.Dataset.range(3) if plain else stream(range(3))

    with record(dataset, tmp_path / "run", ids=int if plain else None) as twin:
        first, second = iter(twin), iter(twin)
        for iterator in (first, first, second, first, second, second):
            next(iterator)

    table = open_run(tmp_path / "run").streams["main"].ranks[0].table(["record", "epoch"])
    assert table["epoch"].to_pylist() == [0, 0, 1, 0, 1, 1]
    assert table["record"].to_pylist() == [0, 1, 0, 2, 1, 2]


def test_passes_within_one_iteration_are_epochs_of_their_own(tmp_path: Path) -> None:
    dataset = stream(range(3)).repeat(3).batch(2)

    with record(dataset, tmp_path / "run") as twin:
        list(twin)
        list(twin.take(1))

    assert rows_of(tmp_path / "run", "epoch") == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3]
    assert rows_of(tmp_path / "run", "batch") == [0, 0, 1, 1, 2, 2, 3, 3, 4, 0, 0]


def test_cycles_of_a_generator_that_repeats_are_epochs(tmp_path: Path) -> None:
    cycles = partial(uniform_id_generator, rng=random.Random(0))

    with record(stream(range(4), id_generator=cycles), tmp_path / "run") as twin:
        list(twin.take(10))

    assert rows_of(tmp_path / "run", "epoch") == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]


def test_passes_of_parts_are_counted_for_each_part(tmp_path: Path) -> None:
    dataset = stream(range(5), stream_mode="finite", num_workers=2).repeat(2)

    with record(dataset, tmp_path / "run") as twin:
        list(twin)

    assert rows_of(tmp_path / "run", "epoch", "worker") == [
        (epoch, worker) for epoch in (0, 1) for worker in (0, 0, 0, 1, 1)
    ]


def test_a_cache_replays_the_first_pass(tmp_path: Path) -> None:
    with record(stream(range(3)).cache(), tmp_path / "run") as twin:
        list(twin)
        list(twin)

    assert rows_of(tmp_path / "run", "epoch") == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("ids", "recorded"),
    [
        ([3, np.int64(1)], [3, 1]),
        (["b", np.str_("a")], ["b", "a"]),
        ([b"b", b"a"], ["b", "a"]),
        ([PurePosixPath("x/b"), PurePosixPath("x/a")], ["x/b", "x/a"]),
        ([(1, "a"), (2, "b")], ['[1,"a"]', '[2,"b"]']),
        ([[1], {"k": (2, None)}], ["[1]", '{"k":[2,null]}']),
        ([np.array([1, 2]), True], ["[1,2]", "true"]),
        ([1, "1"], ["1", '"1"']),
        ([2**63, 1], [str(2**63), "1"]),
        ([1.5, 2], ["1.5", "2"]),
    ],
)
@pytest.mark.parametrize("mode", ["global", "finite"])
def test_an_id_is_an_integer_text_or_its_json(
    ids: list[Any], recorded: list[Any], mode: str, tmp_path: Path
) -> None:
    dataset = stream(ids, data_generator=lambda given: (0 for _ in given), stream_mode=mode)

    with record(dataset, tmp_path / "run") as twin:
        list(twin)
        list(twin)

    assert rows_of(tmp_path / "run", "record") == recorded * 2


def test_an_id_without_json_loads_and_cannot_be_recorded(tmp_path: Path) -> None:
    dataset = stream([object(), {1: object()}], data_generator=lambda ids: (0 for _ in ids))

    assert as_list(dataset) == [0, 0]
    with pytest.raises(UsageError, match="has no JSON text: give ids="):
        record(dataset, tmp_path / "run")
    with record(dataset, tmp_path / "run", ids=int) as twin:
        list(twin)
    assert rows_of(tmp_path / "run", "record") == [0, 0]


def test_ids_that_the_generator_makes_are_recorded_as_it_makes_them(tmp_path: Path) -> None:
    def windows(ids: list[str]) -> Iterator[tuple[str, int]]:
        return ((subject, window) for subject in ids for window in range(2))

    dataset = stream(["a", "b"], id_generator=windows, preprocess=lambda visit: visit[1])

    with record(dataset, tmp_path / "run") as twin:
        list(twin)

    assert rows_of(tmp_path / "run", "record") == ['["a",0]', '["a",1]', '["b",0]', '["b",1]']


def test_a_sample_belongs_to_the_id_asked_for_last(tmp_path: Path) -> None:
    with record(stream([4, 5, 6], data_generator=expand({4: 2, 5: 0, 6: 1})), tmp_path / "r") as t:
        assert as_list(t) == [4, 4, 6]
    assert rows_of(tmp_path / "r", "record", "index") == [(4, 0), (4, 0), (6, 2)]


def test_a_reader_that_asks_ahead_needs_ids(tmp_path: Path) -> None:
    def sort_first(ids: Iterable[int]) -> Iterator[int]:
        yield from sorted(ids)

    dataset = stream([2, 0, 1], data_generator=sort_first)

    with record(dataset, tmp_path / "ahead") as twin:
        list(twin)
    with record(dataset, tmp_path / "told", ids=int) as twin:
        list(twin)

    assert rows_of(tmp_path / "ahead", "record") == [1, 1, 1]
    assert rows_of(tmp_path / "told", "record") == [0, 1, 2]


def test_a_reader_that_asks_for_no_id_is_lost_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with record(stream([1], data_generator=lambda _: iter([5, 6])), tmp_path / "run") as twin:
        assert as_list(twin) == [5, 6]

    assert "before its reader had asked for an ID" in caplog.text
    assert open_run(tmp_path / "run").streams["main"].ranks[0].header.seen.lost == 2


def test_what_is_known_is_declared(tmp_path: Path) -> None:
    weighted = partial(random_id_generator, weights=[1, 2], seed=5)
    with record(stream(["a", "b"], id_generator=weighted), tmp_path / "weighted"):
        pass
    parts = stream([0, 1, 2], num_workers=8, stream_mode="finite", deterministic=False)
    with record(parts, tmp_path / "parts", declared={"purpose": "eval"}):
        pass
    with record(stream([0, 0, 1], id_generator=lambda ids: ids), tmp_path / "own"):
        pass
    with record(tf.data.Dataset.range(3).batch(2), tmp_path / "plain"):
        pass

    found = declared_of(tmp_path / "weighted")
    assert (found.weights, found.replacement, found.shuffle, found.seed) == (
        {"a": 1.0, "b": 2.0}, True, True, 5,
    )  # fmt: skip
    assert (found.stream_mode, found.source_size, found.deterministic) == ("global", 2, True)
    found = declared_of(tmp_path / "parts")
    assert (found.stream_mode, found.workers, found.deterministic) == ("finite", 3, False)
    assert (found.purpose, found.config, found.shuffle) == ("eval", {"num_workers": 8}, False)
    found = declared_of(tmp_path / "own")
    assert not {found.source_size, found.shuffle, found.weights, found.num_epochs} - {
        declared_of(tmp_path / "plain").shuffle
    }
    assert declared_of(tmp_path / "plain").loader == "tf.data.Dataset"


def test_content_is_that_of_the_sample_alone_or_in_a_batch(tmp_path: Path) -> None:
    def read(ids: Iterable[int]) -> Iterator[Any]:
        for number in ids:
            yield {"x": np.full((2, 2), number, np.float32), "s": f"name {number}"}

    spec = {"x": tf.TensorSpec((2, 2), tf.float32), "s": tf.TensorSpec((), tf.string)}
    dataset = stream(range(4), data_generator=read, spec=spec)

    for name, pipeline in {"one": dataset, "many": dataset.batch(3)}.items():
        with record(pipeline, tmp_path / name) as twin:
            list(twin)

    samples = [
        {"x": np.full((2, 2), number, np.float32), "s": f"name {number}".encode()}
        for number in range(4)
    ]
    expected = [sample_digest(sample) for sample in samples]
    assert rows_of(tmp_path / "one", "content") == rows_of(tmp_path / "many", "content") == expected


def test_text_of_several_axes_has_content(tmp_path: Path) -> None:
    texts = np.array([[["a", "b"]], [["c", ""]]], object)
    dataset = tf.data.Dataset.from_tensor_slices(texts)

    for name, batched in (("one", False), ("many", True)):
        pipeline = dataset.batch(2) if batched else dataset
        with record(pipeline, tmp_path / name, batched=batched) as twin:
            list(twin)

    one, many = (rows_of(tmp_path / name, "content") for name in ("one", "many"))
    assert one == many
    assert one[0] == sample_digest([[b"a", b"b"]])


@pytest.mark.parametrize("level", [*Level])
def test_levels_keep_what_they_keep(level: Level, tmp_path: Path) -> None:
    for name, dataset in (("ours", stream(range(4)).batch(2)), ("plain", _labelled(4).batch(2))):
        ids = None if name == "ours" else "id"
        with record(dataset, tmp_path / name, level=level, ids=ids, batched=True) as twin:
            list(twin)
        assert ("content" in columns_of(tmp_path / name)) == (level is not Level.ORDER)


def _labelled(size: int) -> tf.data.Dataset:
    return tf.data.Dataset.range(size).map(lambda n: {"id": n, "name": tf.strings.as_string(n)})


def test_ids_of_a_plain_dataset_are_a_key_a_function_or_the_content(tmp_path: Path) -> None:
    dataset = _labelled(3)

    ways: dict[str, dict[str, Any]] = {
        "key": {"ids": "id"},
        "text": {"ids": "name"},
        "function": {"ids": lambda element: int(element["id"]) * 10},
        "content": {},
    }
    for name, options in ways.items():
        with record(dataset, tmp_path / name, **options) as twin:
            assert [int(element["id"]) for element in twin] == [0, 1, 2]
    with record(dataset.batch(2), tmp_path / "batches", ids="name", batched=True) as twin:
        list(twin)

    assert rows_of(tmp_path / "key", "record") == [0, 1, 2]
    assert rows_of(tmp_path / "text", "record") == ["0", "1", "2"]
    assert rows_of(tmp_path / "function", "record") == [0, 10, 20]
    assert rows_of(tmp_path / "batches", "record", "batch") == [("0", 0), ("1", 0), ("2", 1)]
    contents = rows_of(tmp_path / "content", "record", "content")
    assert all(name == f"{digest:016x}" for name, digest in contents)


def test_a_list_of_ids_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="give ids as a key"):
        record(tf.data.Dataset.range(3), tmp_path / "run", ids=[1, 2, 3])


def test_what_cannot_be_read_never_reaches_the_loop(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: Any) -> int:
        message = "no ID here"
        raise LookupError(message)

    with record(tf.data.Dataset.range(4), tmp_path / "run", ids=fail) as twin:
        assert as_list(twin) == [0, 1, 2, 3]

    assert "no ID here" in caplog.text
    assert open_run(tmp_path / "run").streams["main"].ranks[0].header.seen.lost == 4


def test_elements_of_every_kind_pass_unchanged(tmp_path: Path) -> None:
    kinds = {
        "ragged": tf.data.Dataset.from_tensors(tf.ragged.constant([[1], [2, 3]])),
        "sparse": tf.data.Dataset.from_tensors(tf.sparse.from_dense([[0, 1]])),
        "nested": tf.data.Dataset.from_tensors((1, {"a": ("x", [2.0])})),
        "datasets": tf.data.Dataset.range(4).window(2),
        "nothing": tf.data.Dataset.from_tensors((1, None)),
    }
    for name, dataset in kinds.items():
        with record(dataset, tmp_path / name, ids=lambda _, name=name: name) as twin:
            assert twin.element_spec == dataset.element_spec
            assert int(twin.cardinality()) == int(dataset.cardinality())
            elements = len(list(twin))
        assert rows_of(tmp_path / name, "record") == [name] * elements


def test_a_finished_run_s_twin_delivers_on(tmp_path: Path) -> None:
    twin = record(stream(range(3)), tmp_path / "run")
    list(twin)
    twin.close()

    assert as_list(twin) == [0, 1, 2]
    assert len(rows_of(tmp_path / "run", "record")) == 3


def test_recording_draws_nothing(tmp_path: Path) -> None:
    tf.random.set_seed(3)
    random.seed(3)
    before = random.getstate(), repr(np.random.get_state())  # noqa: NPY002

    with record(stream(range(9)).shuffle(4, seed=1).batch(2), tmp_path / "run") as twin:
        list(twin)
    drawn = float(tf.random.uniform([]))

    assert (random.getstate(), repr(np.random.get_state())) == before  # noqa: NPY002
    tf.random.set_seed(3)
    assert float(tf.random.uniform([])) == drawn


# Keras says so of every dataset that does not know its length.
@pytest.mark.filterwarnings("ignore:Your input ran out of data:UserWarning")
def test_keras_trains_on_what_is_recorded(tmp_path: Path) -> None:
    def read(ids: Iterable[int]) -> Iterator[Any]:
        for number in ids:
            yield np.full(3, number, np.float32), np.float32(number % 2)

    spec = tf.TensorSpec((3,), tf.float32), tf.TensorSpec((), tf.float32)
    cycles = partial(uniform_id_generator, rng=random.Random(1))
    endless = stream(range(10), data_generator=read, id_generator=cycles, spec=spec)
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")

    with record(stream(range(10), data_generator=read, spec=spec).batch(4), tmp_path / "f") as twin:
        model.fit(twin, epochs=2, verbose=0, shuffle=False)
    with record(endless.batch(5), tmp_path / "endless") as twin:
        model.fit(twin, epochs=2, steps_per_epoch=2, verbose=0, shuffle=False)

    assert rows_of(tmp_path / "f", "record", "epoch") == [
        (number, epoch) for epoch in (0, 1) for number in range(10)
    ]
    rows = rows_of(tmp_path / "endless", "record", "epoch")
    assert [sorted(n for n, e in rows if e == epoch) for epoch in (0, 1)] == [list(range(10))] * 2
    assert len(rows) == 20


def test_a_stream_of_grain_keeps_ids_draws_and_epochs(tmp_path: Path) -> None:
    def draw(number: int, rng: np.random.Generator) -> Any:
        return number, rng.random() if number % 3 else 0.5

    options: dict[str, Any] = {"seed": 3, "shuffle": True, "transform": draw, "num_epochs": 2}
    for batch_size in (None, 4):
        grain = to_grain(range(10), batch_size=batch_size, **options)
        shape = () if batch_size is None else (None,)
        spec = tf.TensorSpec(shape, tf.int64), tf.TensorSpec(shape, tf.float64)
        folder = tmp_path / str(batch_size)
        with record(grain, folder / "grain") as twin:
            list(twin)
        with record(to_tf_dataset(grain, spec).prefetch(2), folder / "tf") as twin:
            list(twin)
        with record(to_tf_dataset(grain, spec).shuffle(5, seed=0), folder / "mixed") as twin:
            list(twin)

        names = ["record", "epoch", "draws", "content"]
        assert rows_of(folder / "tf", *names) == rows_of(folder / "grain", *names)
        mixed = rows_of(folder / "mixed", *names)
        assert sorted(map(str, mixed)) == sorted(map(str, rows_of(folder / "grain", *names)))


def test_a_recorded_stream_of_grain_goes_on_recording_in_tensorflow(tmp_path: Path) -> None:
    with record(to_grain(range(5), batch_size=2), tmp_path / "run") as twin:
        batches = to_tf_dataset(twin, tf.TensorSpec((None,), tf.int64))
        assert as_list(batches) == [[0, 1], [2, 3], [4]]

    assert rows_of(tmp_path / "run", "record") == [0, 1, 2, 3, 4]


SOUND: dict[str, dict[str, Any]] = {
    "global": {},
    "several samples of an ID": {
        "data_generator": expand({number: number % 4 for number in range(40)})
    },
    "parts": {"stream_mode": "finite"},
    "merged parts": {"stream_mode": "finite", "deterministic": False},
    "shuffled": {"id_generator": partial(uniform_id_generator, repeat=False)},
    "cycles": {"id_generator": uniform_id_generator},
    "draws": {"id_generator": random_id_generator},
    "weights": {"id_generator": partial(random_id_generator, weights=[1, 2, 3, 4] * 10)},
    "repeated IDs": {"id_generator": lambda ids: [*ids[:5], *ids]},
}


@pytest.mark.parametrize("kind", SOUND)
def test_sound_streams_are_clean(kind: str, tmp_path: Path) -> None:
    random.seed(7)
    dataset = stream(range(40), **SOUND[kind]).take(400).batch(8)

    with record(dataset, tmp_path / "run") as twin:
        for _ in range(3):
            list(twin)

    assert loud_rules(check(tmp_path / "run")) == []


def test_batches_of_batches_are_recorded_by_their_content(tmp_path: Path) -> None:
    dataset = stream(range(8)).batch(2).batch(2)

    with record(dataset, tmp_path / "run", batched=True) as twin:
        elements = as_list(twin)

    digests = np.concatenate([batch_digests(np.array(element)) for element in elements])
    assert rows_of(tmp_path / "run", "content") == digests.tolist()
