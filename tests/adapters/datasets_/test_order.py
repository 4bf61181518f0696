"""What is declared of the order of Hugging Face's datasets, and what audits make of it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import msgspec
import numpy as np
import pytest
from datasets.distributed import split_dataset_by_node
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader

from detloader import audit, check, open_run, record
from tests.support.results import evidence_of, loud_rules

UNKNOWN = msgspec.UNSET
SIZE = 96


def table(size: int = SIZE) -> datasets.Dataset:
    numbers = list(range(size))
    return datasets.Dataset.from_dict({"id": numbers, "kind": [i % 4 for i in numbers]})


def stream(shards: int = 4) -> datasets.IterableDataset:
    return table().to_iterable_dataset(num_shards=shards)


def declared_of(dataset: Any, run: Path, **options: Any) -> Any:
    record(dataset, run, **options).close()
    return open_run(run).streams["main"].declared


@given(st.lists(st.integers(0, 199), min_size=1, max_size=20))
def test_no_row_is_declared_to_repeat_that_does_not(chosen: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        declared = declared_of(table(200).select(chosen), Path(folder) / "run")
    is_once = len(set(chosen)) == len(chosen)

    assert declared.replacement is (False if is_once else UNKNOWN)
    assert ("repeats" in declared.config) is not is_once


NAMES: dict[str, tuple[Any, Any]] = {
    "places": (None, False),
    "a column": ("id", False),
    "a column that names several rows": ("kind", UNKNOWN),
    "a function": (lambda row: row["id"], UNKNOWN),
    "a list": ([*range(SIZE)], False),
    "a list that names several rows": ([0, *range(SIZE - 1)], UNKNOWN),
}


@pytest.mark.parametrize("name", NAMES)
def test_rows_without_ids_of_their_own_may_repeat_them(name: str, tmp_path: Path) -> None:
    ids, replacement = NAMES[name]

    assert declared_of(table().shuffle(1), tmp_path / "run", ids=ids).replacement is replacement


def test_a_transform_may_deliver_other_ids_than_the_table_has(tmp_path: Path) -> None:
    dataset = table().with_transform(lambda rows: {"id": [0 for _ in rows["id"]]})

    assert declared_of(dataset, tmp_path / "run", ids="id").replacement is UNKNOWN


@pytest.mark.parametrize("ids", [None, "id"])
@pytest.mark.parametrize("own_seeds", [False, True])
def test_ranks_that_shuffle_by_seeds_of_their_own_overlap(
    own_seeds: bool, ids: str | None, tmp_path: Path
) -> None:
    for rank in range(2):
        part = split_dataset_by_node(table().shuffle(seed=rank if own_seeds else 1), rank, 2)
        with record(part, tmp_path / "run", rank=rank, ids=ids) as dataset:
            list(dataset)

    assert loud_rules(check(tmp_path / "run")) == (["partition-broken"] if own_seeds else [])


def used(seed: int) -> np.random.Generator:
    generator = np.random.default_rng(seed)
    generator.random()
    return generator


STREAMS: dict[str, tuple[Callable[[], Any], Any, Any]] = {
    "as it is": (stream, UNKNOWN, UNKNOWN),
    "shuffled": (lambda: stream().shuffle(seed=5, buffer_size=9), True, 5),
    "shuffled below": (lambda: stream().shuffle(seed=5).map(lambda row: row), True, 5),
    "by nobody's seed": (lambda: stream().shuffle(), True, None),
    "by a generator": (lambda: stream().shuffle(generator=np.random.default_rng(5)), True, 5),
    "by a used generator": (lambda: stream().shuffle(generator=used(5)), True, UNKNOWN),
    "by several seeds": (
        lambda: stream().shuffle(seed=5).map(lambda row: row).shuffle(seed=6),
        True,
        UNKNOWN,
    ),
    "from a buffer of one": (lambda: stream().shuffle(seed=5, buffer_size=1), UNKNOWN, 5),
    "many shards": (lambda: stream(12).shuffle(seed=5, buffer_size=1), True, 5),
    "drawn from two": (
        lambda: datasets.interleave_datasets(
            [stream(), stream()], probabilities=[0.5, 0.5], seed=5
        ),
        UNKNOWN,
        5,
    ),
}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("in_torch", [False, True])
def test_shuffle_and_seed_of_a_stream_are_declared_where_its_steps_tell(
    in_torch: bool, name: str, tmp_path: Path
) -> None:
    make, shuffle, seed = STREAMS[name]
    loader = DataLoader(make(), batch_size=8) if in_torch else make()
    with record(loader, tmp_path / "run", ids="id") as twin:
        list(twin)
    declared = open_run(tmp_path / "run").streams["main"].declared

    assert (declared.shuffle, declared.seed) == (shuffle, seed)


def runs_of(first: Any, second: Any, folder: Path) -> Any:
    for name, loader in (("a", first), ("b", second)):
        with record(loader, folder / name, ids="id") as twin:
            list(twin)
    return audit(folder / "a", folder / "b")


def test_streams_of_two_seeds_are_told_by_them(tmp_path: Path) -> None:
    first, second = (stream().shuffle(seed=seed) for seed in (1, 2))
    (finding,) = runs_of(first, second, tmp_path).findings

    assert (finding.rule, evidence_of(finding)["given"]) == ("seed-handling", [1, 2])


def test_a_stream_that_workers_of_torch_share_depends_on_their_number(tmp_path: Path) -> None:
    first, second = (
        DataLoader(stream().shuffle(seed=1), batch_size=8, num_workers=workers)
        for workers in (0, 2)
    )

    assert loud_rules(runs_of(first, second, tmp_path)) == ["topology-dependence"]
