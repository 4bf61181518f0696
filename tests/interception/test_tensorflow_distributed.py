"""Datasets that a strategy of TensorFlow's distributes: one stream, as without a strategy."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from detloader import name, open_run, record, record_all
from tests.support import distributed, distributed_fit
from tests.support.programs import record_program

# TensorFlow's own, wherever a function iterates what a strategy distributes.
pytestmark = pytest.mark.filterwarnings("ignore:To make it possible to preserve tf.data options")

COLUMNS = ["record", "epoch", "batch", "content"]


def recorded(folder: Path, program: Any, devices: int) -> str:
    """Record a program for a number of devices, and return what it printed."""
    command = sys.executable, program.__file__, devices
    result = record_program(folder, *command, run=str(devices), env=_environment())
    assert result.returncode == 0, result.stderr
    assert "not recorded" not in result.stderr
    return result.stdout


def bare(program: Any, devices: int) -> str:
    command = [sys.executable, program.__file__, str(devices)]
    return subprocess.check_output(command, text=True, env=_environment())


def _environment() -> dict[str, str]:
    return dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))


def rows(run: Path) -> dict[str, dict[str, list[Any]]]:
    streams = open_run(run).streams
    assert all(stream.complete for stream in streams.values())
    return {name: streams[name].table(COLUMNS).to_pydict() for name in streams}


@pytest.mark.timeout(400)
@pytest.mark.parametrize("program", [distributed, distributed_fit])
def test_a_strategy_takes_what_the_program_takes_without_one(program: Any, tmp_path: Path) -> None:
    recorded(tmp_path, program, 0)
    assert recorded(tmp_path, program, 2) == bare(program, 2)
    assert rows(tmp_path / "2") == rows(tmp_path / "0")


def numbers(count: int = 10) -> Any:
    return name(tf.data.Dataset.range(count).shuffle(count, seed=1).batch(4), "train")


def add(total: Any, batch: Any) -> Any:
    return total + tf.reduce_sum(batch)


def on_one_device() -> Any:
    return tf.distribute.MirroredStrategy(["CPU:0"])


def values(run: Path, column: str, stream: str = "main") -> list[Any]:
    return open_run(run).streams[stream].table([column])[column].to_pylist()


def test_a_distributed_dataset_is_recorded_by_a_line(tmp_path: Path) -> None:
    tf.random.set_seed(None)
    data = on_one_device().experimental_distribute_dataset(numbers())
    with record(data, tmp_path / "run") as twin:
        assert isinstance(twin, tf.distribute.DistributedDataset)
        assert twin.element_spec == data.element_spec
        assert int(twin.cardinality) == 3
        for _ in range(2):
            assert sum(int(tf.reduce_sum(batch)) for batch in twin) == 45
        assert int(twin.reduce(tf.constant(0, tf.int64), add)) == 45
    declared = open_run(tmp_path / "run").streams["main"].declared

    assert values(tmp_path / "run", "epoch") == [0] * 10 + [1] * 10 + [2] * 10
    assert (declared.batch_size, declared.shuffle, declared.seed) == (4, True, 1)


def test_what_the_program_records_itself_is_no_stream_of_the_block(tmp_path: Path) -> None:
    data = on_one_device().experimental_distribute_dataset(numbers())
    with record_all(tmp_path / "all"), record(data, tmp_path / "run") as twin:
        list(twin)
        list(on_one_device().experimental_distribute_dataset(numbers()))

    assert values(tmp_path / "run", "epoch") == [0] * 10
    assert values(tmp_path / "all", "epoch", "train") == [0] * 10


def test_a_function_finds_its_distributed_dataset_in_each_session_anew(tmp_path: Path) -> None:
    data = on_one_device().experimental_distribute_dataset(numbers())
    traced = []

    @tf.function  # type: ignore[untyped-decorator]  # TensorFlow has no types
    def epoch() -> Any:
        traced.append(1)
        total = tf.constant(0, tf.int64)
        for batch in data:
            total += tf.reduce_sum(batch)
        return total

    for run in ("a", "b"):
        with record_all(tmp_path / run):
            assert [int(epoch()) for _ in range(2)] == [45, 45]
        assert int(epoch()) == 45

    assert len(traced) == 1
    for run in ("a", "b"):
        assert values(tmp_path / run, "epoch", "train") == [0] * 10 + [1] * 10


def test_one_under_a_signature_is_not_recorded_and_a_line_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = on_one_device().experimental_distribute_dataset(numbers())

    @tf.function(input_signature=[data._type_spec])  # type: ignore[untyped-decorator]
    def epoch(given: Any) -> Any:
        total = tf.constant(0, tf.int64)
        for batch in given:
            total += tf.reduce_sum(batch)
        return total

    with caplog.at_level(logging.WARNING, "detloader"), record_all(tmp_path / "run"):
        assert int(epoch(data)) == 45

    assert "a distributed dataset within a tf.function" in caplog.text
    assert "input_signature" in caplog.text
