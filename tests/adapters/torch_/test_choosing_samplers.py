"""Samplers that leave records out because their user means it, and loaders that lose some."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import BatchSampler, RandomSampler, Sampler, SubsetRandomSampler

from detloader import open_run, record
from detloader.audits import check
from tests.support.torch_datasets import torch_loader

SIZE = 60


class Own(Sampler[int]):
    """Gives some of the first numbers in another order each time."""

    def __init__(self, given: int, length: int) -> None:
        self.given = given
        self.length = length

    def __iter__(self) -> Iterator[int]:
        return iter(torch.randperm(self.given).tolist())

    def __len__(self) -> int:
        return self.length


class Unsized(Sampler[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(torch.randperm(40).tolist())


class OwnBatches(Sampler[list[int]]):
    def __iter__(self) -> Iterator[list[int]]:
        return iter(torch.randperm(40).reshape(10, 4).tolist())

    def __len__(self) -> int:
        return 10


class Forgetful(BatchSampler):
    """Leaves record 7 out of each batch that should have it."""

    def __iter__(self) -> Iterator[list[int]]:
        for batch in super().__iter__():
            yield [index for index in batch if index != 7]


CHOOSING: dict[str, tuple[Callable[[], dict[str, Any]], int | None]] = {
    "subset": (lambda: {"sampler": SubsetRandomSampler(range(50)), "batch_size": 7}, 50),
    "list": (lambda: {"sampler": list(range(30)), "batch_size": 7}, 30),
    "tensor": (lambda: {"sampler": torch.arange(20)}, 20),
    "twice": (lambda: {"sampler": [*range(30), *range(30)]}, None),
    "batches": (lambda: {"batch_sampler": [[0, 1], [5, 6, 2]]}, 5),
    "lists": (lambda: {"sampler": [[0, 1], [5, 6, 2]], "batch_size": None}, 5),
    "own": (lambda: {"sampler": Own(40, 40), "batch_size": 7}, 40),
    "unsized": (lambda: {"sampler": Unsized(), "batch_size": 7}, None),
    "own batches": (lambda: {"batch_sampler": OwnBatches()}, None),
}


def run_of(path: Path, epochs: int = 8, **options: Any) -> Path:
    with record(torch_loader(torch.arange(SIZE), **options), path) as twin:
        for _ in range(epochs):
            list(twin)
    return path


@pytest.mark.parametrize("name", CHOOSING)
def test_what_a_sampler_leaves_out_is_meant(name: str, tmp_path: Path) -> None:
    options, samples = CHOOSING[name]
    run = run_of(tmp_path / "run", **options())
    declared = open_run(run).streams["main"].declared

    assert check(run).verdict == "clean"
    assert (declared.num_samples or None) == samples
    assert declared.source_size == SIZE


LOSING: dict[str, Callable[[], dict[str, Any]]] = {
    "batches of a shuffle": lambda: {
        "batch_sampler": Forgetful(RandomSampler(range(SIZE)), 4, False)
    },
    "a sampler that says it gives all": lambda: {"sampler": Own(SIZE - 1, SIZE), "batch_size": 7},
}


@pytest.mark.parametrize("name", LOSING)
def test_what_is_lost_over_a_sampler_of_the_whole_source_is_found(
    name: str, tmp_path: Path
) -> None:
    run = run_of(tmp_path / "run", **LOSING[name]())

    assert [finding.rule for finding in check(run).findings] == ["coverage-hole"]
