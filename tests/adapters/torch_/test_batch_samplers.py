"""Batch samplers that hold no sampler: those that deal the batches of another, and one's own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from torch.utils.data import BatchSampler, RandomSampler, WeightedRandomSampler

from detloader import open_run, record
from detloader.audits import check
from tests.support.torch_datasets import torch_loader

SIZE, BATCH, RANKS = 24, 4, 2


class Dealt(BatchSampler):
    """Deals batches, or a part of each, to ranks, with the attributes that accelerate's have."""

    def __init__(self, batches: BatchSampler, rank: int, *, split_batches: bool) -> None:
        self.batch_sampler = batches
        self.num_processes = RANKS
        self.process_index = rank
        self.split_batches = split_batches
        self.batch_size = batches.batch_size
        self.drop_last = batches.drop_last

    def __iter__(self) -> Iterator[list[int]]:
        part = self.batch_size // RANKS
        start = part * self.process_index
        if self.split_batches:
            return (batch[start : start + part] for batch in self.batch_sampler)
        return itertools.islice(self.batch_sampler, self.process_index, None, RANKS)

    def __len__(self) -> int:
        return len(self.batch_sampler) // (1 if self.split_batches else RANKS)


class Own(BatchSampler):
    def __init__(self) -> None:
        pass

    def __iter__(self) -> Iterator[list[int]]:
        return iter(torch.arange(SIZE).reshape(-1, BATCH).tolist())

    def __len__(self) -> int:
        return SIZE // BATCH


def record_dealt(sampler: Any, run: Path, *, split_batches: bool) -> dict[int, list[int]]:
    """Record all ranks; returns what each was given."""
    given = {}
    for rank in range(RANKS):
        batches = BatchSampler(sampler, BATCH, drop_last=False)
        dealt = Dealt(batches, rank, split_batches=split_batches)
        torch.manual_seed(5)
        with record(torch_loader(range(SIZE), batch_sampler=dealt), run, rank=rank) as twin:
            given[rank] = [int(index) for batch in twin for index in batch]
    return given


@pytest.mark.parametrize("split_batches", [False, True])
def test_ranks_that_are_dealt_the_batches_of_one_sampler_are_recorded(
    split_batches: bool, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    given = record_dealt(RandomSampler(range(SIZE)), run, split_batches=split_batches)

    stream = open_run(run).streams["main"]
    told = {rank.header.rank: rank.table(["record"])["record"].to_pylist() for rank in stream.ranks}
    assert told == given
    assert sorted(given[0] + given[1]) == [*range(SIZE)]
    assert stream.declared.world_size == RANKS
    assert stream.declared.batch_size == (BATCH // RANKS if split_batches else BATCH)
    assert stream.declared.num_samples is msgspec.UNSET
    assert not check(run).findings


def test_weights_are_declared_where_batches_are_dealt_to_ranks(tmp_path: Path) -> None:
    weighted = WeightedRandomSampler([1.0, 3.0] * (SIZE // 2), SIZE)
    record_dealt(weighted, tmp_path / "run", split_batches=False)

    weights: Any = open_run(tmp_path / "run").streams["main"].declared.weights
    assert [*weights] == [1.0, 3.0] * (SIZE // 2)


def test_a_batch_sampler_that_holds_nothing_is_recorded(tmp_path: Path) -> None:
    with record(torch_loader(range(SIZE), batch_sampler=Own()), tmp_path / "run") as twin:
        list(twin)

    stream = open_run(tmp_path / "run").streams["main"]
    config: Any = stream.declared.config
    assert stream.table(["record"])["record"].to_pylist() == [*range(SIZE)]
    assert stream.declared.num_samples is msgspec.UNSET
    assert config["sampler"] == "Own"
