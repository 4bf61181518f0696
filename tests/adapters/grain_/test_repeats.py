"""Repeats of Grain that replay their first epoch as it is."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grain
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detloader import audit, check, open_run, record
from detloader.findings import Verdict
from tests.support.grain_pipelines import noise, source
from tests.support.results import loud_rules


def run(dataset: Any, folder: Path) -> Path:
    with record(dataset, folder) as loader:
        list(loader)
    return folder


def rows_of(folder: Path) -> list[tuple[Any, int]]:
    table = open_run(folder).streams["main"].table(["record", "epoch"]).to_pydict()
    return list(zip(table["record"], table["epoch"], strict=True))


ORDERED: dict[str, Callable[[grain.MapDataset[Any]], grain.MapDataset[Any]]] = {
    "as it is": lambda dataset: dataset,
    "a slice": lambda dataset: dataset[1::2],
    "backwards": lambda dataset: dataset[::-1],
    "batches": lambda dataset: dataset.batch(3),
    "repeated": lambda dataset: dataset.repeat(2),
    "after another": lambda dataset: grain.MapDataset.concatenate([source(4, 50), dataset]),
    "beside another": lambda dataset: grain.experimental.ZipMapDataset([dataset, dataset]),
}


@given(
    make=st.sampled_from([*ORDERED.values()]),
    size=st.integers(2, 9),
    epochs=st.integers(1, 4),
    batch=st.integers(1, 5),
)
@settings(max_examples=20, deadline=None)
def test_without_a_shuffle_it_does_not_matter_whether_a_repeat_reseeds(
    make: Callable[[grain.MapDataset[Any]], grain.MapDataset[Any]],
    size: int,
    epochs: int,
    batch: int,
) -> None:
    dataset = make(source(size))
    if make is not ORDERED["batches"]:
        again = [
            dataset.repeat(epochs, reseed_each_epoch=anew).batch(batch) for anew in (True, False)
        ]
    else:
        again = [dataset.repeat(epochs, reseed_each_epoch=anew) for anew in (True, False)]
    with tempfile.TemporaryDirectory() as folder:
        a, b = (run(each, Path(folder, f"{number}")) for number, each in enumerate(again))
        result = audit(a, b)

    assert (result.verdict, result.findings) == (Verdict.IDENTICAL, [])


REPLAYED: dict[str, tuple[Callable[[], grain.MapDataset[Any]], int]] = {
    "shuffled": (lambda: source().shuffle(3), 1),
    "several epochs": (lambda: source(9).shuffle(3).repeat(2), 2),
    "a part of several": (lambda: source(9).shuffle(3).repeat()[2:25], 3),
    "every third": (lambda: source(9).repeat(4)[::3], 4),
    "in windows": (
        lambda: grain.experimental.WindowShuffleMapDataset(source(20), window_size=5, seed=1),
        1,
    ),
    "twice": (lambda: source(6).shuffle(3).repeat(2, reseed_each_epoch=False), 2),
    "batches": (lambda: source(7).shuffle(3).batch(3).repeat(2), 2),
    "mixed": (lambda: grain.MapDataset.mix([source(9), source(5, 100)], [0.7, 0.3]), 1),
    "mixed again and again": (
        lambda: grain.MapDataset.mix([source(6).repeat(), source(8, 100).repeat()], [1, 2])[:36],
        3,
    ),
}


@pytest.mark.parametrize("name", REPLAYED)
def test_each_pass_has_the_records_of_the_first_in_epochs_of_its_own(
    name: str, tmp_path: Path
) -> None:
    make, epochs = REPLAYED[name]
    rows = rows_of(run(make().repeat(3, reseed_each_epoch=False), tmp_path / "run"))
    size = len(rows) // 3
    first = rows[:size]

    assert {epoch for _, epoch in first} == set(range(epochs))
    for number in (1, 2):
        later = rows[number * size : (number + 1) * size]
        passed = [(record, epoch - number * _epochs(first, record)) for record, epoch in later]
        assert passed == first


def _epochs(rows: list[tuple[Any, int]], record: Any) -> int:
    """Count the epochs of the source that a record is of."""
    source = str(record).rpartition(":")[0]
    return 1 + max(epoch for name, epoch in rows if str(name).rpartition(":")[0] == source)


@pytest.mark.parametrize("name", ["shuffled", "several epochs", "mixed again and again"])
@pytest.mark.parametrize("batch", [1, 5])
def test_a_run_goes_on_in_the_middle_of_a_later_pass(name: str, batch: int, tmp_path: Path) -> None:
    make, _ = REPLAYED[name]
    dataset = make().repeat(3, reseed_each_epoch=False).batch(batch)
    with record(dataset, tmp_path / "whole") as loader:
        iterator: Any = iter(loader)
        states = [iterator.get_state() for _ in iterator]
    for number in {0, len(states) // 2, 2 * len(states) // 3}:
        with record(dataset, tmp_path / f"{number}") as loader:
            iterator = iter(loader)
            iterator.set_state(states[number])
            list(iterator)
        result = audit(tmp_path / "whole", tmp_path / f"{number}")

        assert (result.verdict, loud_rules(result)) == (Verdict.IDENTICAL, [])


def test_one_order_for_all_epochs_is_declared_and_meant(tmp_path: Path) -> None:
    made = source().seed(5).shuffle().random_map(noise)
    runs = [
        run(made.repeat(3, reseed_each_epoch=anew), tmp_path / f"{anew}") for anew in (True, False)
    ]
    configs: list[Any] = [open_run(each).streams["main"].declared.config for each in runs]
    result = audit(*runs)

    assert [config["reshuffle_each_epoch"] for config in configs] == [True, False]
    assert [config["fixed_draws"] for config in configs] == [False, True]
    assert [check(each).findings for each in runs] == [[], []]
    assert "reshuffle_each_epoch (true and false)" in str(result.reason)


def test_a_shuffle_behind_the_repeat_makes_other_epochs(tmp_path: Path) -> None:
    made = source().shuffle(3).repeat(3, reseed_each_epoch=False).shuffle(4)
    config: Any = open_run(run(made, tmp_path / "run")).streams["main"].declared.config

    assert config["reshuffle_each_epoch"] is True
