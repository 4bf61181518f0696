"""Blocks within blocks, and iterators that are used longer than their datasets are held."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grain
import pytest
import tensorflow as tf

from detloader import name, open_run, record_all, to_grain
from detloader.manifest.verify import verify_run
from tests.support.blocks import fit, interleaved, loader


def test_the_innermost_block_has_what_is_iterated_in_it(tmp_path: Path) -> None:
    with record_all(tmp_path / "outer"):
        with record_all(tmp_path / "inner"):
            fit(name(loader(), "a"))
        fit(name(loader(), "b"))

    assert set(open_run(tmp_path / "inner").streams) == {"a"}
    assert set(open_run(tmp_path / "outer").streams) == {"b"}


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.data.Dataset.range(5),
        lambda: grain.MapDataset.range(5),
        lambda: to_grain(list(range(5))),
    ],
    ids=["tensorflow", "grain", "ours"],
)
def test_a_block_goes_on_with_what_another_one_within_it_iterated(
    make: Callable[[], Any], tmp_path: Path
) -> None:
    numbers = name(make(), "train")
    with record_all(tmp_path / "outer"):
        begun = iter(numbers)
        next(begun)
        with record_all(tmp_path / "inner"):
            fit(numbers)
        gc.collect()
        fit(begun)
        fit(numbers)
    outer, inner = verify_run(tmp_path / "outer"), verify_run(tmp_path / "inner")

    assert (inner.rows, outer.rows, outer.complete) == (5, 10, True)
    assert outer.streams["train"].table(["epoch"])["epoch"].to_pylist() == [0] * 5 + [1] * 5


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.data.Dataset.range(5),
        interleaved,
        lambda: tf.distribute.OneDeviceStrategy("/cpu:0").experimental_distribute_dataset(
            tf.data.Dataset.range(5)
        ),
        lambda: grain.MapDataset.range(5),
        lambda: to_grain(list(range(5))),
        loader,
    ],
    ids=["tensorflow", "interleaved", "distributed", "grain", "ours", "torch"],
)
def test_an_iterator_is_recorded_to_its_end_though_its_dataset_is_let_go_of(
    make: Callable[[], Any], tmp_path: Path
) -> None:
    with record_all(tmp_path / "run"):
        begun = iter(make())
        next(begun)
        gc.collect()
        delivered = 1 + len([*begun])
    run = verify_run(tmp_path / "run")

    assert (run.rows, run.complete) == (delivered, True)
