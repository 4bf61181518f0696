"""Batches of TensorFlow whose rows are no rows of an array: ragged ones and sparse ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from detloader import create_interleaved_dataset_from_generator, open_run, record

RAGGED = tf.ragged.constant([[1, 2], [3], [], [7, 8, 9]])
DEEP = tf.ragged.constant([[[1, 2], [3]], [], [[4], [5, 6], []], [[1]]])
TEXT = tf.ragged.constant([["a", "b"], ["c"], [], ["d\0"]])
SPARSE = tf.sparse.from_dense([[1, 0], [0, 2], [0, 0], [3, 4]])
DENSE = tf.constant([["a"], ["b"], ["c"], ["d"]])


def columns(dataset: tf.data.Dataset, run: Path, **options: Any) -> dict[str, list[Any]]:
    with record(dataset, run, **options) as twin:
        for _ in twin:
            pass
    stream = open_run(run).streams["main"]
    assert stream.complete
    found: dict[str, list[Any]] = stream.table().to_pydict()
    return found


@pytest.mark.parametrize("batched", [True, None])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "data",
    [
        RAGGED,
        DEEP,
        TEXT,
        SPARSE,
        (RAGGED, DENSE),
        {"s": SPARSE, "t": TEXT},
        {"x": DENSE, "mask": None},
    ],
    ids=["ragged", "deep", "text", "sparse", "with dense rows", "sparse and text", "with nothing"],
)
def test_a_row_of_a_batch_has_the_content_that_it_has_alone(
    data: Any, size: int, batched: bool | None, tmp_path: Path
) -> None:
    records = tf.data.Dataset.from_tensor_slices(data)
    alone = columns(records, tmp_path / "alone")
    found = columns(records.batch(size), tmp_path / "batches", batched=batched)

    assert found["content"] == alone["content"]
    assert found["record"] == alone["record"]
    assert found["batch"] == [place // size for place in range(4)]
    assert len(set(found["content"])) == 4


@pytest.mark.parametrize("shape", [(4, 0), (4, 2, 0)])
def test_rows_of_text_in_which_there_is_nothing_are_counted(
    shape: tuple[int, ...], tmp_path: Path
) -> None:
    records = tf.data.Dataset.from_tensor_slices(tf.zeros(shape, tf.string))
    alone = columns(records, tmp_path / "alone")
    found = columns(records.batch(3), tmp_path / "batches")

    assert found["content"] == alone["content"]
    assert found["batch"] == [0, 0, 0, 1]


def test_ids_stand_beside_the_content_of_ragged_rows(tmp_path: Path) -> None:
    data = {"id": ["a", "b", "c", "d"], "x": RAGGED}
    records = tf.data.Dataset.from_tensor_slices(data).batch(3)
    found = columns(records, tmp_path / "run", ids="id", batched=True)

    assert found["record"] == ["a", "b", "c", "d"]
    assert len(set(found["content"])) == 4


def test_a_sparse_row_does_not_depend_on_how_far_its_batch_reaches(tmp_path: Path) -> None:
    def matrices() -> Any:
        for size in (2, 3, 1):
            yield tf.sparse.from_dense(np.eye(size))

    spec = tf.SparseTensorSpec([None, None], tf.float64)
    records = tf.data.Dataset.from_generator(matrices, output_signature=spec)

    alone = columns(records, tmp_path / "alone")["content"]
    assert columns(records.batch(3), tmp_path / "batch")["content"] == alone


def test_parts_of_unlike_length_are_no_rows(tmp_path: Path) -> None:
    data = {"id": ["a", "b", "c", "d"], "x": RAGGED}
    records = tf.data.Dataset.from_tensor_slices(data).batch(2)
    uneven = records.map(lambda batch: {**batch, "k": tf.zeros(7)})
    found = columns(uneven, tmp_path / "run", ids="id")

    assert found["record"] == ["a", "b", "c", "d"]
    assert "content" not in found


def test_ragged_samples_of_a_reader_keep_their_ids_in_batches(tmp_path: Path) -> None:
    def read(ids: Any) -> Any:
        for size in ids:
            yield tf.ragged.constant([[size] * size])

    spec = tf.RaggedTensorSpec([1, None], tf.int32, 1)
    records = create_interleaved_dataset_from_generator(read, iter, [1, 2, 3, 4], spec)
    alone = columns(records, tmp_path / "alone")
    found = columns(records.batch(3), tmp_path / "batches")

    assert found["record"] == [1, 2, 3, 4]
    assert found["content"] == alone["content"]


def test_a_dataset_that_is_the_input_of_several_is_looked_at_once(tmp_path: Path) -> None:
    dataset = tf.data.Dataset.range(6).batch(2)
    for _ in range(40):  # a million million ways lead from the last one to the first
        dataset = tf.data.Dataset.zip(dataset, dataset).map(lambda one, _: one)
    record(dataset, tmp_path / "run").close()

    assert open_run(tmp_path / "run").streams["main"].declared.batch_size == 2


def test_a_thousand_datasets_behind_one_another_are_recorded(tmp_path: Path) -> None:
    dataset = tf.data.Dataset.range(1)
    for number in range(1, 1200):
        dataset = dataset.concatenate(tf.data.Dataset.range(number, number + 1))

    assert columns(dataset, tmp_path / "run", ids=int)["record"] == [*range(1200)]
