"""Checkpoints of iterators over recorded datasets of TensorFlow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from detloader import open_run, record
from tests.support.programs import column, record_program, write_program

DATASETS = {
    "shuffled": lambda: tf.data.Dataset.range(30).shuffle(30, seed=1).batch(4),
    "mapped": lambda: tf.data.Dataset.range(30).map(lambda x: x + 1, tf.data.AUTOTUNE).batch(4),
    "read ahead": lambda: tf.data.Dataset.range(30).shuffle(8, seed=1).batch(4).prefetch(2),
    "pairs": lambda: tf.data.Dataset.from_tensor_slices(([1, 2, 3, 4], ["a", "b", "c", "d"])),
}


def batches(iterator: Any) -> list[Any]:
    return [[np.asarray(part).tolist() for part in tf.nest.flatten(batch)] for batch in iterator]


@pytest.mark.parametrize("name", DATASETS)
@pytest.mark.parametrize("taken", [0, 2])
def test_an_iterator_that_takes_up_a_checkpoint_delivers_and_records_the_rest(
    taken: int, name: str, tmp_path: Path
) -> None:
    rest = batches(DATASETS[name]())[taken:]
    with record(DATASETS[name](), tmp_path / "saved", batched=False) as twin:
        iterator = iter(twin)
        for _ in range(taken):
            next(iterator)
        saved = tf.train.Checkpoint(iterator=iterator).save(tmp_path / "checkpoint")
        assert batches(iterator) == rest
    with record(DATASETS[name](), tmp_path / "restored", batched=False) as twin:
        iterator = iter(twin)
        tf.train.Checkpoint(iterator=iterator).restore(saved).assert_consumed()
        assert batches(iterator) == rest
    before, after = (
        open_run(tmp_path / run).streams["main"].table().to_pydict()
        for run in ("saved", "restored")
    )

    assert after["record"] == before["record"][taken:]
    assert set(after["epoch"]) == {0}


@pytest.mark.parametrize("name", DATASETS)
@pytest.mark.parametrize("saver", ["bare", "recorded"])
def test_checkpoints_with_and_without_recording_are_one(
    saver: str, name: str, tmp_path: Path
) -> None:
    rest = batches(DATASETS[name]())[2:]
    bare = iter(DATASETS[name]())
    with record(DATASETS[name](), tmp_path / "run") as twin:
        recorded = iter(twin)
        of = {"bare": (bare, recorded), "recorded": (recorded, bare)}
        saving, restored = of[saver]
        for _ in range(2):
            next(saving)
        saved = tf.train.Checkpoint(iterator=saving).save(tmp_path / "checkpoint")
        tf.train.Checkpoint(iterator=restored).restore(saved).assert_consumed()
        assert batches(restored) == rest
        assert batches(saving) == rest


def test_numpy_iterators_with_and_without_recording_take_up_each_others_state(
    tmp_path: Path,
) -> None:
    rest = batches(DATASETS["shuffled"]())[1:]
    bare = DATASETS["shuffled"]().as_numpy_iterator()
    with record(DATASETS["shuffled"](), tmp_path / "run") as twin:
        recorded = twin.as_numpy_iterator()
        for iterator in (bare, recorded):
            next(iterator)
        states = [iterator._save() for iterator in (bare, recorded)]
        for iterator, state in zip((recorded, bare), states, strict=True):
            assert batches(iterator) == rest
            iterator._restore(state)
            assert batches(iterator) == rest


def test_what_cannot_be_saved_cannot_be_saved_with_recording_either(tmp_path: Path) -> None:
    def drawn() -> Any:
        return tf.data.Dataset.range(9).map(lambda x: x + tf.random.uniform([], 0, 9, tf.int64))

    def save(iterator: Any) -> str:
        next(iterator)
        with pytest.raises(tf.errors.FailedPreconditionError) as caught:
            tf.train.Checkpoint(iterator=iterator).save(tmp_path / "checkpoint")
        return str(caught.value)

    with record(drawn(), tmp_path / "run") as twin:
        assert save(iter(twin)) == save(iter(drawn()))


def test_a_copy_for_an_asynchronous_checkpoint_holds_the_same_place(tmp_path: Path) -> None:
    rest = batches(DATASETS["shuffled"]())[2:]
    options = tf.train.CheckpointOptions(enable_async=True)
    with record(DATASETS["shuffled"](), tmp_path / "run") as twin:
        iterator = iter(twin)
        for _ in range(2):
            next(iterator)
        checkpoint = tf.train.Checkpoint(iterator=iterator)
        saved = checkpoint.save(tmp_path / "checkpoint", options=options)
        checkpoint.sync()
        assert batches(iterator) == rest
    bare = iter(DATASETS["shuffled"]())
    tf.train.Checkpoint(iterator=bare).restore(saved)

    assert batches(bare) == rest


def test_an_iterator_that_is_set_back_begins_an_epoch(tmp_path: Path) -> None:
    with record(DATASETS["shuffled"](), tmp_path / "run") as twin:
        iterator = iter(twin)
        next(iterator)
        checkpoint = tf.train.Checkpoint(iterator=iterator)
        saved = checkpoint.save(tmp_path / "checkpoint")
        rest = batches(iterator)
        checkpoint.restore(saved)
        assert batches(iterator) == rest
    table = open_run(tmp_path / "run").streams["main"].table().to_pydict()

    assert table["epoch"] == [0] * 30 + [1] * 26
    assert table["record"][4:30] == table["record"][30:]


def test_a_program_that_saves_an_iterator_is_recorded(tmp_path: Path) -> None:
    program = write_program(
        tmp_path,
        """
        import tensorflow as tf
        iterator = iter(tf.data.Dataset.range(30).shuffle(30, seed=1).batch(4))
        next(iterator)
        checkpoint = tf.train.Checkpoint(iterator=iterator)
        saved = checkpoint.save("checkpoints/c")
        for _ in range(2):
            print([batch.numpy().tolist() for batch in iterator])
            checkpoint.restore(saved)
        """,
        head="",
    )
    bare = subprocess.run(
        [sys.executable, program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=250,
    )
    recorded = record_program(tmp_path, sys.executable, program)

    assert (recorded.returncode, recorded.stdout) == (0, bare.stdout)
    assert len(column(tmp_path / "run", "record", "train.py:3")) == 30 + 26
