"""What the graph of a TensorFlow dataset says of itself."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from detloader import audit, open_run, record
from detloader.findings import Verdict


def recorded(dataset: tf.data.Dataset, run: Path, **options: Any) -> Any:
    with record(dataset, run, **options) as twin:
        for _ in twin:
            pass
    return open_run(run).streams["main"]


def examples() -> tf.data.Dataset:
    return tf.data.Dataset.from_tensor_slices({"id": tf.range(10), "x": tf.ones((10, 2))})


@pytest.mark.parametrize(
    "dataset",
    [
        examples().batch(4),
        examples().batch(4).prefetch(2),
        examples().batch(4, num_parallel_calls=2).map(lambda e: e | {"x": e["x"] * 2}),
        examples().padded_batch(4).take(9).repeat(1),
    ],
    ids=["batch", "prefetch", "map", "padded"],
)
def test_batches_are_known_by_the_operation_that_made_them(
    dataset: tf.data.Dataset, tmp_path: Path
) -> None:
    stream = recorded(dataset, tmp_path / "run", ids="id")
    table = stream.table(["record", "batch"]).to_pydict()

    assert table["record"] == list(range(10))
    assert table["batch"] == [0] * 4 + [1] * 4 + [2] * 2
    assert (stream.declared.batch_size, stream.declared.drop_remainder) == (4, False)


def test_elements_are_records_where_nothing_batched_them(tmp_path: Path) -> None:
    stream = recorded(examples(), tmp_path / "run", ids="id")

    assert "batch" not in stream.columns
    assert stream.rows == 10


def test_the_user_knows_better(tmp_path: Path) -> None:
    stream = recorded(examples().batch(4), tmp_path / "run", batched=False)

    assert stream.rows == 3


def test_shuffles_are_declared_with_their_buffer_and_seed(tmp_path: Path) -> None:
    dataset = examples().shuffle(5, seed=3, reshuffle_each_iteration=False).batch(4)
    declared = recorded(dataset, tmp_path / "run", ids="id").declared

    assert (declared.shuffle, declared.seed) == (True, 3)
    assert declared.config["shuffle"][0]["buffer_size"] == 5
    assert declared.config["shuffle"][0]["reshuffle_each_iteration"] is False


def test_what_is_not_said_stays_unknown(tmp_path: Path) -> None:
    declared = recorded(examples().shuffle(5), tmp_path / "run", ids="id").declared

    assert declared.shuffle is True
    assert not isinstance(declared.seed, int)
    assert not isinstance(declared.deterministic, bool)


def test_deterministic_is_declared_where_it_was_chosen(tmp_path: Path) -> None:
    options = tf.data.Options()
    options.deterministic = False
    declared = recorded(examples().with_options(options), tmp_path / "run", ids="id").declared

    assert declared.deterministic is False


def interleaved(*, late: int | None) -> tf.data.Dataset:
    """Interleave two readers; without determinism the late one comes when the other is done."""
    done = threading.Event()

    def read(reader: int) -> Iterator[int]:
        if reader == late:
            done.wait()
        yield from range(100 * reader, 100 * reader + 50)
        done.set()

    def open_reader(reader: Any) -> tf.data.Dataset:
        spec = tf.TensorSpec((), tf.int64)
        return tf.data.Dataset.from_generator(read, args=(reader,), output_signature=spec)

    return tf.data.Dataset.range(2).interleave(
        open_reader, cycle_length=2, num_parallel_calls=2, deterministic=late is None
    )


def test_readers_that_race_are_named_and_those_that_take_turns_are_clean(tmp_path: Path) -> None:
    for run, late in (("a", 0), ("b", 1), ("mended-a", None), ("mended-b", None)):
        recorded(interleaved(late=late), tmp_path / run, ids=int)
    faulty = audit(tmp_path / "a", tmp_path / "b")
    mended = audit(tmp_path / "mended-a", tmp_path / "mended-b")

    assert faulty.verdict is Verdict.REORDERED
    assert faulty.findings[0].rule == "race"
    assert mended.verdict is Verdict.IDENTICAL
