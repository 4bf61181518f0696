"""Data sets that put the samples of a batch together themselves, as Keras makes them of arrays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset, IterableDataset

from detloader import check, open_run, record
from detloader.errors import RunError
from tests.support.loaders import rows_of
from tests.support.torch_datasets import Finished, as_it_is, torch_loader

COLUMNS = ("record", "batch", "content", "label", "draws")
FORMS = ("pair", "list", "dict", "nested", "array")


class OneByOne(Dataset[Any]):
    """The same samples, without the way to read many at once."""

    def __init__(self, finished: Finished) -> None:
        self.finished = finished

    def __len__(self) -> int:
        return len(self.finished)

    def __getitem__(self, index: int) -> Any:
        return self.finished[index]


def rows(loader: Any, run: Path, **how: Any) -> list[Any]:
    with record(loader, run, **how) as twin:
        list(twin)
    stream = open_run(run).streams["main"]
    assert stream.complete
    return rows_of(run, *(name for name in COLUMNS if name in stream.columns))


@pytest.mark.parametrize(("batch_size", "workers"), [(1, 0), (3, 0), (7, 2)])
@pytest.mark.parametrize("form", FORMS)
def test_rows_of_a_finished_batch_are_those_of_its_samples(
    form: str, batch_size: int, workers: int, tmp_path: Path
) -> None:
    data = Finished(11, form)
    options = {"batch_size": batch_size, "sampler": [4, 0, 9, 4, 10, 2, 7]}

    whole = torch_loader(data, collate_fn=as_it_is, num_workers=workers, **options)
    found = rows(whole, tmp_path / "whole")

    assert found == rows(torch_loader(OneByOne(data), **options), tmp_path / "samples")


def test_lists_with_a_sample_for_each_index_are_no_finished_batches(tmp_path: Path) -> None:
    class Pairs(OneByOne):
        def __getitems__(self, indices: list[int]) -> list[Any]:
            return [self[index] for index in indices]

    data = Finished(9, "pair")
    found = rows(torch_loader(Pairs(data), batch_size=2, collate_fn=as_it_is), tmp_path / "list")

    assert found == rows(torch_loader(OneByOne(data), batch_size=2), tmp_path / "samples")


def test_ids_are_found_in_the_finished_batch(tmp_path: Path) -> None:
    for name, ids in {"key": "label", "function": lambda batch: batch["label"]}.items():
        loader = torch_loader(Finished(6, "dict"), batch_size=4, collate_fn=as_it_is)
        found = rows(loader, tmp_path / name, ids=ids)
        assert [row[0] for row in found] == [0, 1, 2, 3, 0, 1]


def test_the_content_of_what_has_no_rows_is_unknown_and_its_records_are_known(
    tmp_path: Path,
) -> None:
    class Scaled(Finished):
        def __getitems__(self, indices: list[int]) -> Any:
            return {**super().__getitems__(indices), "scale": 0.5}

    loader = torch_loader(Scaled(5, "dict"), batch_size=2, collate_fn=as_it_is)
    found = rows(loader, tmp_path / "run")

    assert [row[:3] for row in found] == [(place, place // 2, None) for place in range(5)]


class Skipping(Finished):
    """Leaves out what it cannot read."""

    def __getitems__(self, indices: list[int]) -> Any:
        kept = [index for index in indices if index != 4]
        if self.form == "list":
            return [self[index] for index in kept]
        return super().__getitems__(kept)


@pytest.mark.parametrize("form", ["list", "pair", "dict", "array"])
def test_records_that_a_data_set_left_out_are_not_said_to_have_come(
    form: str, tmp_path: Path
) -> None:
    loader = torch_loader(Skipping(9, form), batch_size=3, collate_fn=as_it_is)

    with (
        pytest.raises(RunError, match="gave 2 records for 3 indices"),
        record(loader, tmp_path / "run", on_loss="raise") as twin,
    ):
        list(twin)

    assert rows_of(tmp_path / "run", "record") == [0, 1, 2]


class Ready(Dataset[Any]):
    """Batches of four that were made beforehand."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        numbers = 4 * index + torch.arange(4)
        return {"x": numbers * 0.5, "label": numbers}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("level", ["order", "full"])
def test_rows_of_ready_batches_are_records(level: str, workers: int, tmp_path: Path) -> None:
    loader = torch_loader(Ready(), batch_size=None, sampler=[2, 0, 1], num_workers=workers)
    labels = [*range(8, 12), *range(8)]

    rows(loader, tmp_path / "named", batched=True, level=level, ids="label")
    rows(loader, tmp_path / "unnamed", batched=True, level=level)

    places = [place // 4 for place in range(12)]
    assert rows_of(tmp_path / "named", "record", "batch") == [*zip(labels, places, strict=True)]
    assert rows_of(tmp_path / "unnamed", "batch") == places
    assert len(set(rows_of(tmp_path / "unnamed", "record"))) == 12
    assert not check(tmp_path / "unnamed").findings


def test_lists_of_indices_name_the_rows_of_ready_batches(tmp_path: Path) -> None:
    lists = [[4, 0], [9, 4, 10], [2]]
    loader = torch_loader(Finished(11, "pair"), batch_size=None, sampler=lists)

    found = rows(loader, tmp_path / "said", batched=True)

    assert [row[:2] for row in found] == [(4, 0), (0, 0), (9, 1), (4, 1), (10, 1), (2, 2)]
    assert found == rows(loader, tmp_path / "seen")


def test_indices_of_files_leave_the_rows_to_ids(tmp_path: Path) -> None:
    class Files(Ready):
        def __getitem__(self, index: Any) -> Any:
            parts = [Ready.__getitem__(self, file) for file in index]
            return {key: torch.cat([part[key] for part in parts]) for key in parts[0]}

    loader = torch_loader(Files(), batch_size=None, sampler=[[2, 0], [1]])
    rows(loader, tmp_path / "run", batched=True, ids="label")

    assert rows_of(tmp_path / "run", "record") == [*range(8, 12), *range(4), *range(4, 8)]


def test_ids_of_batches_are_not_taken_for_those_of_rows(tmp_path: Path) -> None:
    loader = torch_loader(Ready(), batch_size=None)

    with (
        pytest.raises(RunError, match="an index is that of a whole batch"),
        record(
            loader, tmp_path / "run", batched=True, ids=["a", "b", "c"], on_loss="raise"
        ) as twin,
    ):
        list(twin)


KEYS: dict[str, tuple[list[Any], list[Any]]] = {
    "dicts": ([{"at": 1}, {"at": 0}], ["{'at': 1}", "{'at': 0}"]),
    "slices": ([slice(0, 2), slice(1, 2)], ["slice(0, 2, None)", "slice(1, 2, None)"]),
    "arrays": ([np.array([1, 0]), np.array([0])], [1, 0, 0]),
}


@pytest.mark.parametrize("name", KEYS)
def test_a_sampler_may_give_keys_of_any_kind(name: str, tmp_path: Path) -> None:
    class Keyed(Dataset[Any]):
        def __len__(self) -> int:
            return len(KEYS[name][0])

        def __getitem__(self, key: Any) -> Any:
            return torch.arange(2)[key["at"] if isinstance(key, dict) else key]

    keys, records = KEYS[name]
    rows(torch_loader(Keyed(), batch_size=None, sampler=keys), tmp_path / "run")

    assert rows_of(tmp_path / "run", "record") == records


def test_batches_before_keys_of_another_kind_are_kept(tmp_path: Path) -> None:
    values = dict.fromkeys([1, 2, "a", "b"], torch.zeros(2))
    loader = torch_loader(values, batch_size=2, sampler=[*values, 1, 2])
    with record(loader, tmp_path / "run") as twin:
        assert len(list(twin)) == 3
    run = open_run(tmp_path / "run")

    assert rows_of(tmp_path / "run", "record") == [1, 2]
    assert not run.complete


def test_strong_digests_count_as_many_rows(tmp_path: Path) -> None:
    class Batches(IterableDataset[Any]):
        def __iter__(self) -> Any:
            return iter([torch.zeros(3, 2), torch.ones(1, 2)])

    loader = torch_loader(Batches(), batch_size=None)
    rows(loader, tmp_path / "run", batched=True, digest="sha256")

    assert rows_of(tmp_path / "run", "batch") == [0, 0, 0, 1]


PROGRAM = """
import sys
import numpy as np
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter
from detloader import record
x = np.arange(140, dtype=np.float32).reshape(70, 2)
adapter = ArrayDataAdapter(x, np.arange(70) % 3, batch_size=32, shuffle=True)
with record(adapter.get_torch_dataloader(), sys.argv[1]) as twin:
    print([batch[0].tolist() for batch in twin])
"""


def test_arrays_that_keras_gives_to_torch_have_all_their_rows(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "run")]
    environment = os.environ | {"KERAS_BACKEND": "torch"}
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    delivered = np.concatenate([np.array(batch) for batch in json.loads(said.stdout)])

    found = rows_of(tmp_path / "run", "record", "batch", "label")

    places = (delivered[:, 0] / 2).astype(int).tolist()
    assert found == [(place, row // 32, place % 3) for row, place in enumerate(places)]
