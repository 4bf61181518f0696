"""Samples that are None, and that a collating function leaves out: they are no rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DistributedSampler, IterableDataset, default_collate

from detloader import check, open_run, record
from tests.support.loaders import rows_of
from tests.support.torch_datasets import torch_loader

BROKEN = {3, 8, 9, 10, 11}


class Files:
    """Pairs of a random image and a label, but of files that cannot be read."""

    def __init__(self, broken: set[int]) -> None:
        self.broken = broken
        self.rng = np.random.default_rng(5)

    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> Any:
        crop = self.rng.normal()
        if index in self.broken:
            return None
        return {"x": np.array([index, crop]), "id": f"n{index}", "label": index % 7}


class Stream(IterableDataset[Any]):
    """The same files, without indices."""

    def __iter__(self) -> Iterator[Any]:
        files = Files(BROKEN)
        return iter([files[index] for index in range(24)])


def skip(samples: list[Any]) -> Any:
    kept = [sample for sample in samples if sample is not None]
    return default_collate(kept) if kept else None


def delivered(twin: Any) -> list[int]:
    batches = [batch for batch in twin if batch is not None]
    return [int(row[0]) for batch in batches for row in batch["x"]]


KEPT = [index for index in range(24) if index not in BROKEN]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("level", ["order", "full"])
def test_samples_that_are_left_out_are_no_rows(tmp_path: Path, workers: int, level: str) -> None:
    loader = torch_loader(Files(BROKEN), batch_size=4, num_workers=workers, collate_fn=skip)
    with record(loader, tmp_path / "run", level=level) as twin:
        assert delivered(twin) == KEPT

    assert rows_of(tmp_path / "run", "record") == KEPT
    assert rows_of(tmp_path / "run", "batch") == [index // 4 for index in KEPT]
    assert open_run(tmp_path / "run").complete
    assert "coverage-hole" in [finding.rule for finding in check(tmp_path / "run").findings]


def test_the_rows_that_are_left_are_those_of_a_run_without_broken_files(tmp_path: Path) -> None:
    names = ("record", "content", "draws", "label")
    for run, broken in (("skipped", BROKEN), ("whole", set[int]())):
        loader = torch_loader(Files(broken), batch_size=4, collate_fn=skip)
        with record(loader, tmp_path / run) as twin:
            list(twin)

    whole = rows_of(tmp_path / "whole", *names)
    assert rows_of(tmp_path / "skipped", *names) == [row for row in whole if row[0] in KEPT]


@pytest.mark.parametrize("dataset", [Files(BROKEN), Stream()], ids=["indexed", "stream"])
def test_ids_of_samples_are_asked_of_those_that_are_left(tmp_path: Path, dataset: Any) -> None:
    loader = torch_loader(dataset, batch_size=4, collate_fn=skip)
    with record(loader, tmp_path / "run", ids="id") as twin:
        assert delivered(twin) == KEPT

    assert rows_of(tmp_path / "run", "record") == [f"n{index}" for index in KEPT]
    assert open_run(tmp_path / "run").complete


def test_padding_keeps_its_rows(tmp_path: Path) -> None:
    sampler: Any = DistributedSampler(range(23), 2, 1, shuffle=False)  # type: ignore[arg-type]
    loader = torch_loader(Files({1}), batch_size=4, sampler=sampler, collate_fn=skip)
    with record(loader, tmp_path / "run") as twin:
        list(twin)

    rows = open_run(tmp_path / "run").streams["main"].table()
    assert rows["record"].to_pylist() == [3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 0]
    assert rows["padding"].to_pylist() == [False] * 10 + [True]


def as_zeros(samples: list[Any]) -> Any:
    return torch.stack([torch.zeros(2) if s is None else torch.ones(2) for s in samples])


@pytest.mark.parametrize("collate", [list, tuple, as_zeros])
def test_samples_that_the_batch_still_shows_are_rows(tmp_path: Path, collate: Any) -> None:
    loader = torch_loader(Files(BROKEN), batch_size=4, collate_fn=collate)
    with record(loader, tmp_path / "run") as twin:
        list(twin)

    assert rows_of(tmp_path / "run", "record") == list(range(24))
