"""Subsets: their records are those of the data set below."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import BatchSampler, RandomSampler, Subset, random_split

from detloader import audit, check, open_run, record
from detloader.findings import Verdict
from tests.support.loaders import rows_of
from tests.support.torch_datasets import torch_loader

SIZE = 30


class Without(BatchSampler):
    """Leaves place 7 out of each batch that should have it."""

    def __iter__(self) -> Iterator[list[int]]:
        for batch in super().__iter__():
            yield [place for place in batch if place != 7]


def run_of(path: Path, dataset: Any, epochs: int = 1, **options: Any) -> Path:
    with record(torch_loader(dataset, **options), path) as twin:
        for _ in range(epochs):
            list(twin)
    return path


def splits(seed: int = 1) -> list[Any]:
    numbers: Any = torch.arange(SIZE)
    return random_split(numbers, [20, 10], generator=torch.Generator().manual_seed(seed))


@given(
    st.lists(st.lists(st.integers(-3, 2), min_size=3, max_size=5), max_size=3),
    st.sampled_from([list, tuple, np.array, torch.tensor]),
)
@settings(max_examples=30, deadline=None)
def test_a_record_is_the_one_that_the_innermost_data_set_is_asked_for(
    levels: list[list[int]], kind: Any
) -> None:
    dataset: Any = torch.arange(3)
    for indices in levels:
        dataset = Subset(dataset, kind(indices))
    with tempfile.TemporaryDirectory() as folder:
        run = run_of(Path(folder) / "run", dataset)
        found = rows_of(run, "record")

    assert found == [int(dataset[i]) for i in range(len(dataset))]


def test_subsets_of_what_is_read_by_names_have_names(tmp_path: Path) -> None:
    letters: Any = {"a": 1, "b": 2, "c": 3}
    names: Any = ["c", "a"]

    run = run_of(tmp_path / "run", Subset(letters, names))

    assert rows_of(run, "record", "index") == [("c", 0), ("a", 1)]


def test_splits_share_no_record_and_no_content_drifts_between_them(tmp_path: Path) -> None:
    training, held_out = splits()
    run_of(tmp_path / "a", training, shuffle=True)
    run_of(tmp_path / "b", held_out, shuffle=True)
    run_of(tmp_path / "c", splits(seed=2)[0], shuffle=True)
    records = [set(rows_of(tmp_path / name, "record")) for name in "ab"]

    assert not records[0] & records[1]
    assert records[0] | records[1] == set(range(SIZE))
    for other in "bc":
        result = audit(tmp_path / "a", tmp_path / other)
        assert result.verdict is Verdict.CHANGED
        assert "content-drift" not in [finding.rule for finding in result.findings]


@pytest.mark.parametrize("indices", [range(10, 30), [3, 3, 5, 9, 9, 9]], ids=["part", "twice"])
def test_what_a_subset_leaves_out_or_repeats_is_meant(indices: Any, tmp_path: Path) -> None:
    numbers: Any = torch.arange(SIZE)
    run = run_of(tmp_path / "run", Subset(numbers, indices), 4, shuffle=True, batch_size=7)

    assert check(run).verdict == "clean"
    assert open_run(run).streams["main"].declared.source_size == len(indices)


def test_what_is_lost_of_a_subset_is_found_by_its_place(tmp_path: Path) -> None:
    training = splits()[0]
    batches = Without(RandomSampler(training), 4, drop_last=False)

    (finding,) = check(run_of(tmp_path / "run", training, 6, batch_sampler=batches)).findings

    assert finding.rule == "coverage-hole"
    assert finding.evidence["dropped"] == [7]
    assert set(rows_of(tmp_path / "run", "record")) == set(training.indices) - {training.indices[7]}


def test_ids_of_ones_own_are_those_of_the_subsets_places(tmp_path: Path) -> None:
    numbers: Any = torch.arange(SIZE)
    loader = torch_loader(Subset(numbers, [4, 2]), sampler=[1, -2])
    with record(loader, tmp_path / "run", ids=["four", "two"]) as twin:
        list(twin)

    assert rows_of(tmp_path / "run", "record", "index") == [("two", 1), ("four", 0)]
