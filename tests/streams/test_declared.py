"""What the graph of a TensorFlow dataset says of itself."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from detloader import audit, create_interleaved_dataset_from_generator, open_run, record
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


def parts() -> tf.data.Dataset:
    return tf.data.Dataset.range(2)


def part_of(number: Any) -> tf.data.Dataset:
    return examples().skip(5 * number).take(5).batch(2)


WITHIN: dict[str, tuple[Callable[[], tf.data.Dataset], list[list[int]]]] = {
    "rebatch": (
        lambda: examples().batch(4).rebatch([3, 2]),
        [[0, 1, 2], [3, 4], [5, 6, 7], [8, 9]],
    ),
    "bucket": (
        lambda: examples().bucket_by_sequence_length(lambda e: e["id"] % 2, [1], [3, 4]),
        [[0, 2, 4], [1, 3, 5, 7], [6, 8], [9]],
    ),
    "window": (
        lambda: examples().group_by_window(
            lambda e: tf.cast(e["id"] % 2, tf.int64), lambda _, d: d.batch(3), window_size=4
        ),
        [[0, 2, 4], [6], [1, 3, 5], [7], [8], [9]],
    ),
    "flat_map": (
        lambda: parts().flat_map(part_of),
        [[0, 1], [2, 3], [4], [5, 6], [7, 8], [9]],
    ),
    "interleave": (
        lambda: parts().interleave(part_of, num_parallel_calls=2, deterministic=True),
        [[0, 1], [5, 6], [2, 3], [7, 8], [4], [9]],
    ),
    "nested": (
        lambda: tf.data.Dataset.range(1).flat_map(
            lambda _: parts().interleave(part_of).prefetch(1)
        ),
        [[0, 1], [5, 6], [2, 3], [7, 8], [4], [9]],
    ),
    "sources": (
        lambda: part_of(0).concatenate(part_of(1)).filter(lambda e: e["id"][0] != 4),
        [[0, 1], [2, 3], [5, 6], [7, 8], [9]],
    ),
    "shard": (lambda: examples().batch(3).shard(2, 1), [[3, 4, 5], [9]]),
}


@pytest.mark.parametrize("name", WITHIN)
def test_batches_are_known_where_they_were_made_within(name: str, tmp_path: Path) -> None:
    make, batches = WITHIN[name]
    table = recorded(make(), tmp_path / "run", ids="id").table(["record", "batch"]).to_pydict()

    assert table["record"] == [id_ for batch in batches for id_ in batch]
    assert table["batch"] == [place for place, batch in enumerate(batches) for _ in batch]


@pytest.mark.parametrize(
    "dataset",
    [
        examples().batch(4).unbatch(),
        parts().flat_map(lambda _: examples()),
        examples().group_by_window(lambda e: tf.cast(e["id"] % 2, tf.int64), lambda _, d: d, 4),
    ],
    ids=["unbatch", "flat_map", "window"],
)
def test_records_that_were_put_together_and_taken_apart_are_no_batches(
    dataset: tf.data.Dataset, tmp_path: Path
) -> None:
    stream = recorded(dataset, tmp_path / "run", ids="id")

    assert "batch" not in stream.columns
    assert stream.complete


def test_a_window_is_one_record(tmp_path: Path) -> None:
    numbers = tf.data.Dataset.range(10).window(4, shift=1, drop_remainder=True)

    stream = recorded(numbers.flat_map(lambda window: window.batch(4)), tmp_path / "run")

    assert "batch" not in stream.columns
    assert stream.rows == 7


@pytest.mark.parametrize("batched", [True, False])
def test_what_is_taken_for_the_other_kind_of_element_is_said(
    batched: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    dataset = examples() if batched else examples().batch(4)
    recorded(dataset, tmp_path / "run", ids="id", batched=batched)

    assert f"batched={not batched} if an element" in caplog.text


def test_elements_are_records_where_nothing_batched_them(tmp_path: Path) -> None:
    stream = recorded(examples(), tmp_path / "run", ids="id")

    assert "batch" not in stream.columns
    assert stream.rows == 10


def test_the_user_knows_better(tmp_path: Path) -> None:
    stream = recorded(examples().batch(4), tmp_path / "run", batched=False)

    assert stream.rows == 3


def test_shuffles_are_declared_with_their_buffer_and_seed(tmp_path: Path) -> None:
    tf.random.set_seed(None)
    dataset = examples().shuffle(5, seed=3, reshuffle_each_iteration=False).batch(4)
    declared = recorded(dataset, tmp_path / "run", ids="id").declared

    assert (declared.shuffle, declared.seed) == (True, 3)
    assert declared.config["shuffle"][0]["buffer_size"] == 5
    assert declared.config["shuffle"][0]["reshuffle_each_iteration"] is False


def test_what_is_not_said_stays_unknown(tmp_path: Path) -> None:
    declared = recorded(examples(), tmp_path / "run", ids="id").declared

    assert not isinstance(declared.shuffle, bool)
    assert not isinstance(declared.seed, int)


@pytest.mark.parametrize("deterministic", [False, None])
def test_readers_of_named_files_declare_that_they_race(
    deterministic: bool | None, tmp_path: Path
) -> None:
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text(f"{number}\n")
    listed = tf.data.Dataset.list_files(f"{tmp_path}/*.txt", shuffle=False)
    named = tf.data.Dataset.from_tensor_slices([f"{path}" for path in tmp_path.glob("*.txt")])
    for run, files in (("listed", listed), ("named", named)):
        lines = files.interleave(
            tf.data.TextLineDataset, num_parallel_calls=2, deterministic=deterministic
        )
        declared = recorded(lines, tmp_path / run).declared

        assert (declared.deterministic is False) == (deterministic is False)


def interleaved(turns: list[int] | None) -> tf.data.Dataset:
    """Interleave two readers of 50 records; turns say in which order they come to the finish."""
    changed = threading.Condition()
    left = list(turns or [])

    def wait_for_turn(reader: int) -> None:
        with changed:
            changed.wait_for(lambda: not left or left[0] == reader)

    def end_turn() -> None:
        with changed:
            del left[:1]
            changed.notify_all()

    def read(reader: int) -> Iterator[int]:
        for number in range(100 * reader, 100 * reader + 50):
            wait_for_turn(reader)
            yield number
            end_turn()

    def open_reader(reader: Any) -> tf.data.Dataset:
        spec = tf.TensorSpec((), tf.int64)
        return tf.data.Dataset.from_generator(read, args=(reader,), output_signature=spec)

    return tf.data.Dataset.range(2).interleave(
        open_reader, cycle_length=2, num_parallel_calls=2, deterministic=turns is None
    )


def turns(seed: int) -> list[int]:
    return random.Random(seed).sample([0, 1] * 50, 100)


def test_readers_that_race_are_named_and_those_that_take_turns_are_clean(tmp_path: Path) -> None:
    for run, order in (("a", turns(1)), ("b", turns(2)), ("mended-a", None), ("mended-b", None)):
        recorded(interleaved(order), tmp_path / run, ids=int)
    faulty = audit(tmp_path / "a", tmp_path / "b")
    mended = audit(tmp_path / "mended-a", tmp_path / "mended-b")

    assert faulty.verdict is Verdict.REORDERED
    assert faulty.findings[0].rule == "race"
    assert mended.verdict is Verdict.IDENTICAL


def schedule() -> tf.data.Dataset:
    """Make a dataset of 10 samples whose IDs travel with them."""

    def read(ids: Any) -> Iterator[Any]:
        for number in ids:
            yield np.full((4,), number, np.float32)

    return create_interleaved_dataset_from_generator(
        read, iter, list(range(10)), tf.TensorSpec((4,), tf.float32)
    )


def test_a_shuffle_on_a_schedule_is_declared_beside_it(tmp_path: Path) -> None:
    tf.random.set_seed(None)
    declared = recorded(schedule().shuffle(5, seed=3).batch(4), tmp_path / "run").declared

    assert (declared.shuffle, declared.seed, declared.stream_mode) == (True, 3, "global")
    assert declared.config["shuffle"][0]["buffer_size"] == 5


def test_an_unseeded_shuffle_on_a_seeded_schedule_has_no_seed(tmp_path: Path) -> None:
    tf.random.set_seed(None)
    declared = recorded(schedule().shuffle(5), tmp_path / "run").declared

    assert (declared.shuffle, declared.seed) == (True, None)


@pytest.mark.parametrize(
    "operation",
    [
        lambda d: d.batch(4).flat_map(tf.data.Dataset.from_tensor_slices).batch(4),
        lambda d: d.batch(4).interleave(tf.data.Dataset.from_tensor_slices).batch(3),
        lambda d: d.batch(4).map(tf.reduce_sum).shuffle(3, seed=1).batch(6),
        lambda d: d.batch(4).map(lambda x: tf.reduce_mean(x, 0)).batch(6),
    ],
    ids=["flat_map", "interleave", "reduce and shuffle", "reduce"],
)
def test_batches_may_be_taken_apart_and_put_together_again(
    operation: Callable[[Any], Any], tmp_path: Path
) -> None:
    samples = np.repeat(np.arange(10, dtype=np.float32), 4).reshape(10, 4)
    plain = operation(tf.data.Dataset.from_tensor_slices(samples))
    found = [element.numpy().tolist() for element in operation(schedule())]
    stream = recorded(operation(schedule()), tmp_path / "run")

    assert found == [element.numpy().tolist() for element in plain]
    assert stream.rows == sum(map(len, found))


@pytest.mark.parametrize("rows", [2, 8])
def test_a_batch_of_other_rows_than_records_is_not_taken_for_them(
    rows: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    changed = schedule().batch(4).map(lambda x: tf.concat([x, x], 0)[:rows])
    stream = recorded(changed, tmp_path / "run")

    assert stream.rows == 0
    assert not stream.complete
    assert f"a batch made of 4 records has {rows} rows" in caplog.text


def test_ragged_batches_have_content_row_by_row(tmp_path: Path) -> None:
    for run, factor in (("a", 1.0), ("same", 1.0), ("b", 9.0)):
        ragged = schedule().map(lambda x, f=factor: tf.RaggedTensor.from_row_lengths(x * f, [1, 3]))
        stream = recorded(ragged.batch(4), tmp_path / run)
        assert stream.table()["content"].null_count == 0

    assert audit(tmp_path / "a", tmp_path / "same").verdict is Verdict.IDENTICAL
    assert audit(tmp_path / "a", tmp_path / "b").verdict is Verdict.CHANGED
