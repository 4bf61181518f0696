"""Draws of samples that a data set makes at once, and of those that it only seems to."""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import BatchSampler, Dataset, RandomSampler, StackDataset, Subset

from detloader import audit, check, open_run, record
from detloader.findings import Result
from tests.support.loaders import rows_of
from tests.support.torch_datasets import GlobalDraws, torch_loader

SIZE = 32
COLUMNS = ("draws", "draws_python", "draws_numpy", "draws_torch")


class Noisy(Dataset[Any]):
    """Adds a number of NumPy's global generator to each index."""

    def __init__(self, size: int = SIZE) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> float:
        return index + float(np.random.rand())  # noqa: NPY002 - the global one is meant


class Reading(Noisy):
    """The same, which is asked for a batch, and may leave indices as they are."""

    def __getitems__(self, indices: list[int]) -> list[float]:
        return [self[index] for index in indices]


class Quiet(Reading):
    """Draws nothing, and says what it is told to."""

    shift = 0.0

    def __getitem__(self, index: int) -> float:
        return index + self.shift


class Shifting(Noisy):
    """Adds one number to all of a batch."""

    def __getitems__(self, indices: list[int]) -> list[float]:
        noise = float(np.random.rand())  # noqa: NPY002 - as above
        return [index + noise for index in indices]


class Named(Subset[Any]):
    """A subset that is read as Torch's are."""

    name = "validation"


def subset(dataset: Any, kind: Callable[..., Any] = Subset) -> Any:
    return kind(dataset, list(range(len(dataset))))


SEEMING: dict[str, Callable[[], Any]] = {
    "subset": lambda: subset(Noisy()),
    "subset of a subset": lambda: subset(subset(Noisy())),
    "subset of one's own": lambda: subset(Noisy(), Named),
    "stack": lambda: StackDataset(Noisy()),
}
AT_ONCE: dict[str, Callable[[], Any]] = {
    "own": Reading,
    "subset of such": lambda: subset(Reading()),
    "stack of such": lambda: StackDataset(a=Reading()),
}


def run_of(path: Path, dataset: Any, seed: int = 0, **options: Any) -> Path:
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - as above
    generator = torch.Generator().manual_seed(seed)
    loader = torch_loader(dataset, **{"shuffle": True, "generator": generator, **options})
    with record(loader, path) as twin:
        list(twin)
    return path


def rules_of(result: Result) -> list[str]:
    return [finding.rule for finding in result.findings]


@pytest.mark.parametrize("kind", [Subset, Named])
@pytest.mark.parametrize("workers", [0, 2])
def test_samples_of_a_subset_have_the_draws_that_they_have_without_it(
    kind: type[Any], workers: int, tmp_path: Path
) -> None:
    places = [4, 0, 7, 3, 3, 8, 1]
    options: Any = {"batch_size": 3, "num_workers": workers, "shuffle": False}
    for name, dataset, sampler in (
        ("alone", GlobalDraws(9), places),
        ("below", kind(kind(GlobalDraws(9), list(range(9))), places), None),
    ):
        torch.manual_seed(5)
        run_of(tmp_path / name, dataset, sampler=sampler, **options)

    names = ("record", *COLUMNS) if workers == 0 else ("record", "draws_torch")
    assert rows_of(tmp_path / "below", *names) == rows_of(tmp_path / "alone", *names)


@pytest.mark.parametrize("name", [*SEEMING, *AT_ONCE])
def test_other_batches_of_the_same_samples_are_regrouped(name: str, tmp_path: Path) -> None:
    build = {**SEEMING, **AT_ONCE}[name]
    for size in (8, 16):
        run_of(tmp_path / str(size), build(), batch_size=size)

    result = audit(tmp_path / "8", tmp_path / "16")

    assert result.verdict == "regrouped"
    assert ("draws" in (result.not_compared or [])) is (name in AT_ONCE)


@pytest.mark.parametrize("name", [*SEEMING, *AT_ONCE])
def test_a_record_that_comes_twice_in_a_batch_does_not_drift(name: str, tmp_path: Path) -> None:
    dataset = {**SEEMING, **AT_ONCE}[name]()
    sampler = RandomSampler(dataset, replacement=True, num_samples=4 * SIZE)
    run = run_of(tmp_path / "run", dataset, batch_size=SIZE, shuffle=False, sampler=sampler)

    assert len(set(rows_of(run, "draws"))) == 4 * SIZE
    assert check(run).verdict == "clean"


@pytest.mark.parametrize("name", [*SEEMING, *AT_ONCE])
def test_content_that_follows_the_place_in_another_order_does_not_drift(
    name: str, tmp_path: Path
) -> None:
    for seed in (1, 2):
        dataset = {**SEEMING, **AT_ONCE}[name]()
        run_of(tmp_path / str(seed), dataset, seed, batch_size=SIZE)

    result = audit(tmp_path / "1", tmp_path / "2")

    assert result.verdict == "reordered"
    assert rules_of(result) == ["seed-handling"]


@pytest.mark.parametrize("named", [False, True])
def test_a_stacked_sample_has_the_draws_of_all_its_parts(named: bool, tmp_path: Path) -> None:
    parts: Any = (subset(GlobalDraws(6, numpy=False)), GlobalDraws(6, python=False))
    dataset = StackDataset(a=parts[0], b=parts[1]) if named else StackDataset(*parts)
    run = run_of(tmp_path / "run", dataset, batch_size=4, shuffle=False)

    *_, torch_draws = drawn = [rows_of(run, name) for name in COLUMNS]

    assert len(set(torch_draws)) == 6
    assert [[draw is not None for draw in column] for column in drawn[1:3]] == [
        [bool(index % 2) for index in range(6)],
        [bool(index % 3) for index in range(6)],
    ]


@pytest.mark.parametrize("mended", [False, True])
def test_draws_of_whole_batches_do_not_say_what_changed_in_other_batches(
    mended: bool, tmp_path: Path
) -> None:
    for size in (8, 16):
        run_of(tmp_path / str(size), Noisy() if mended else Shifting(), batch_size=size)

    result = audit(tmp_path / "8", tmp_path / "16")

    assert result.verdict == ("regrouped" if mended else "changed")
    assert rules_of(result) == []
    unchecked = [entry.missing for entry in result.not_checked if entry.rule == "content-drift"]
    assert unchecked == ([] if mended else [["draws"]])


def test_what_drifts_is_found_in_other_batches_where_nothing_was_drawn(tmp_path: Path) -> None:
    for size in (8, 16):
        dataset = Quiet()
        dataset.shift = size / 100
        run_of(tmp_path / str(size), dataset, batch_size=size)

    assert rules_of(audit(tmp_path / "8", tmp_path / "16")) == ["content-drift"]
    assert set(rows_of(tmp_path / "8", "draws")) == {None}


def test_batches_of_one_have_the_draws_of_their_sample(tmp_path: Path) -> None:
    for name, dataset in {"at once": Reading(), "alone": Noisy()}.items():
        run_of(tmp_path / name, dataset, batch_size=1)

    assert rows_of(tmp_path / "at once", *COLUMNS) == rows_of(tmp_path / "alone", *COLUMNS)


def test_lists_of_indices_are_read_at_once(tmp_path: Path) -> None:
    class Many(Noisy):
        def __getitem__(self, index: Any) -> Any:
            return torch.tensor(index) + torch.from_numpy(np.random.rand(len(index)))  # noqa: NPY002 - as above

    sampler = BatchSampler(RandomSampler(range(SIZE), replacement=True), 4, drop_last=False)
    run = run_of(tmp_path / "run", Many(), batch_size=None, shuffle=False, sampler=sampler)

    assert len(set(rows_of(run, "draws"))) == SIZE
    declared: Any = open_run(run).streams["main"].declared.config
    assert declared["draws_of"] == "batch"


def calls_of_ours(loader: Any, run: Path, **how: Any) -> int:
    """Count how often a loop calls a function of ours in its own thread."""
    counted = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal counted
        counted += event == "call" and "/adapters/torch/" in frame.f_code.co_filename

    with record(loader, run, **how) as twin:
        gc.disable()  # what it would end here may be a loader of an earlier test
        sys.setprofile(count)
        try:
            list(twin)
        finally:
            sys.setprofile(None)
            gc.enable()
    return counted


MADE: dict[str, Callable[[Dataset[Any]], Dataset[Any]]] = {
    "alone": lambda dataset: dataset,
    "a subset": lambda dataset: Subset(dataset, range(SIZE)),
    "stacked": lambda dataset: StackDataset(dataset, dataset),
}


@pytest.mark.parametrize("name", MADE)
def test_samples_are_not_looked_at_one_by_one_where_nobody_asks_for_draws(
    name: str, tmp_path: Path
) -> None:
    counts = []
    for size in (2, 4, SIZE):
        loader = torch_loader(
            MADE[name](Noisy()), batch_size=size, sampler=range(size), collate_fn=len
        )
        run = tmp_path / str(size)
        counts.append(calls_of_ours(loader, run, level="order", draws=False))
        assert rows_of(run, "record") == [*range(size)]

    assert counts[1] == counts[2]  # the first loop of a process also imports what it needs


def test_a_subset_that_reads_in_its_own_way_is_read_so(tmp_path: Path) -> None:
    calls: list[Any] = []

    class Doubled(Subset[Any]):
        def __getitem__(self, index: Any) -> Any:
            calls.append(index)
            return 2 * self.dataset[self.indices[index]]

        def __getitems__(self, indices: list[int]) -> list[Any]:
            calls.append(tuple(indices))
            return [self[index] for index in indices]

    run = run_of(tmp_path / "run", Doubled(Noisy(4), [2, 0, 3]), batch_size=2, shuffle=False)

    assert calls == [(0, 1), 0, 1, (2,), 2]
    assert rows_of(run, "record") == [2, 0, 3]
