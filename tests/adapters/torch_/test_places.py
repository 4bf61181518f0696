"""Where the sampler told to read, beside IDs that are found in the samples."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import RandomSampler, Sampler, Subset, WeightedRandomSampler

from detloader import audit, open_run, record
from tests.support.loaders import rows_of
from tests.support.results import lacking, loud_rules
from tests.support.torch_datasets import Counting, Finished, torch_loader


def named(count: int) -> list[dict[str, Any]]:
    """Make samples with an ID, the last of them first."""
    return [{"x": i, "name": f"n{i}", "id": 7 * i} for i in reversed(range(count))]


def run_of(run: Path, loader: Any, epochs: int = 1, **how: Any) -> Path:
    with record(loader, run, **how) as twin:
        for _ in range(epochs):
            list(twin)
    return run


@given(
    order=st.lists(st.integers(-6, 5), min_size=1, max_size=12),
    batch_size=st.integers(1, 5),
    ids=st.sampled_from(["name", "id", lambda sample: sample["name"]]),
)
@settings(max_examples=40)
def test_an_ids_place_is_the_index_that_the_sampler_gave(
    order: list[int], batch_size: int, ids: Any
) -> None:
    samples = named(6)
    sampler: Any = order
    loader = torch_loader(samples, batch_size=batch_size, sampler=sampler)
    with tempfile.TemporaryDirectory() as folder:
        found = rows_of(run_of(Path(folder) / "run", loader, ids=ids), "record", "index")

    find = ids if callable(ids) else lambda sample: sample[ids]
    assert found == [(find(samples[index]), index % 6) for index in order]


def test_workers_tell_places_too_and_what_is_skipped_has_none(tmp_path: Path) -> None:
    samples: Any = named(9)
    samples[4] = None

    def kept(batch: list[Any]) -> list[Any]:
        return [sample for sample in batch if sample is not None]

    loader = torch_loader(samples, batch_size=3, collate_fn=kept, num_workers=2)
    run = run_of(tmp_path / "run", loader, ids="id")

    assert rows_of(run, "record", "index") == [(56 - 7 * i, i) for i in range(9) if i != 4]


def test_a_place_is_that_in_the_subset(tmp_path: Path) -> None:
    sampler: Any = [1, -1, 0]
    samples: Any = named(9)
    loader = torch_loader(Subset(samples, [4, 2, 8]), sampler=sampler)
    run = run_of(tmp_path / "run", loader, ids="name")

    assert rows_of(run, "record", "index") == [("n6", 1), ("n0", 2), ("n4", 0)]


LETTERS: Any = {letter: {"name": letter.upper()} for letter in "abc"}


class Files(Finished):
    """Batches of four that were made beforehand."""

    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(slice(4 * index, 4 * index + 4))


@pytest.mark.parametrize(
    ("loader", "how"),
    [
        (torch_loader(LETTERS, sampler=["b", "a"]), {"ids": "name"}),
        (torch_loader(Counting(3)), {"ids": "key"}),
        (
            torch_loader(Files(8, "dict"), batch_size=None, sampler=[1, 0]),
            {"ids": "label", "batched": True},
        ),
    ],
    ids=["read by names", "a stream", "files of batches"],
)
def test_what_is_not_read_by_places_has_none(loader: Any, how: Any, tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", loader, **how)

    assert "index" not in open_run(run).streams["main"].columns


WEIGHTS = [10.0 if i % 5 == 0 else 1.0 for i in range(97)]


@pytest.mark.parametrize("ids", ["name", "id", [f"n{i}" for i in range(97)]])
def test_weights_that_are_ignored_are_named_however_records_are(ids: Any, tmp_path: Path) -> None:
    def run(name: str, sampler: Sampler[int]) -> Path:
        torch.manual_seed(3)
        loader = torch_loader(named(97), batch_size=4, sampler=sampler)
        return run_of(tmp_path / name, loader, 3, ids=ids)

    weighted = run("a", WeightedRandomSampler(WEIGHTS, 97))
    plain = run("b", RandomSampler(range(97)))
    result = audit(weighted, plain)

    assert loud_rules(result) == ["ignored-weights"]
    assert "index" not in lacking(result, "sampling-distribution")
