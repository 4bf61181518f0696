"""Pipelines of WebDataset, recorded as they are, over real shards."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import webdataset as wds
from torch.utils.data import DataLoader, IterableDataset

from detloader import audit, open_run, record
from detloader.errors import UsageError
from detloader.findings import Verdict
from tests.support.late_closing import LATE_CLOSING, collect

__all__ = ["collect"]

pytestmark = LATE_CLOSING


@pytest.fixture
def shards(tmp_path: Path) -> str:
    return write_shards(tmp_path / "shards")


def write_shards(folder: Path, shards: int = 3, records: int = 8) -> str:
    folder.mkdir()
    for shard in range(shards):
        with wds.TarWriter(str(folder / f"shard-{shard}.tar")) as writer:
            for number in range(records):
                values = np.full(2, 100 * shard + number, np.float32)
                sample = {"__key__": f"{number:04}", "npy": values, "cls": number}
                writer.write(sample | {"txt": "a" * number, "json": {"n": number, "m": [1, 2]}})
    return f"{folder}/shard-{{0..{shards - 1}}}.tar"


def pipeline(urls: str, seed: int | None = 3) -> Any:
    if seed is None:
        return wds.WebDataset(urls, shardshuffle=False).decode()
    return wds.WebDataset(urls, shardshuffle=3, seed=seed).shuffle(5, seed=seed).decode()


def column(run: Path, name: str) -> list[Any]:
    return open_run(run).streams["main"].table([name])[name].to_pylist()


def test_a_sample_is_known_by_its_shard_and_its_key(shards: str, tmp_path: Path) -> None:
    bare = [(sample["__url__"][-11:], sample["__key__"]) for sample in pipeline(shards)]
    with record(pipeline(shards), tmp_path / "run") as samples:
        found = [(sample["__url__"][-11:], sample["__key__"]) for sample in samples]

    assert found == bare
    assert column(tmp_path / "run", "record") == [f"{shard}/{key}" for shard, key in bare]


def test_the_same_shards_elsewhere_are_the_same_data(tmp_path: Path) -> None:
    for place in ("here", "there"):
        urls = write_shards(tmp_path / place)
        with record(pipeline(urls), tmp_path / f"run-{place}") as samples:
            list(samples)

    assert audit(tmp_path / "run-here", tmp_path / "run-there").verdict is Verdict.IDENTICAL


def test_batches_of_samples_keep_their_keys_and_contents(shards: str, tmp_path: Path) -> None:
    with record(pipeline(shards, None), tmp_path / "samples") as samples:
        list(samples)
    batches = pipeline(shards, None).batched(5)
    with record(batches, tmp_path / "batches", batched=True) as twin:
        list(twin)
    result = audit(tmp_path / "samples", tmp_path / "batches")

    assert result.verdict is Verdict.IDENTICAL
    assert "content" not in (result.not_compared or [])
    assert column(tmp_path / "batches", "batch") == [row // 5 for row in range(24)]


def in_pairs(data: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for one in data:
        both = [one, next(data)]
        yield {name: [sample[name] for sample in both] for name in one}


BATCHES: dict[str, Callable[[Any], Any]] = {
    "batched": lambda samples: samples.batched(2),
    "listed": lambda samples: samples.listed(2),
    "by Torch": lambda samples: wds.WebLoader(samples, batch_size=2),
    "in workers": lambda samples: wds.WebLoader(samples.batched(2), batch_size=None, num_workers=1),
    "again": lambda samples: (
        wds.WebLoader(samples.batched(5), batch_size=None).unbatched().batched(2)
    ),
}


@pytest.mark.parametrize("fields", [None, ("npy", "cls", "txt", "json")], ids=["dicts", "tuples"])
@pytest.mark.parametrize("name", BATCHES)
def test_each_sample_of_a_batch_is_a_row(
    name: str, fields: tuple[str, ...] | None, shards: str, tmp_path: Path
) -> None:
    samples = pipeline(shards, None)
    samples = samples if fields is None else samples.to_tuple(*fields)
    for run, loader in {"samples": samples, "batches": BATCHES[name](samples)}.items():
        with record(loader, tmp_path / run) as twin:
            list(twin)
    result = audit(tmp_path / "samples", tmp_path / "batches")

    assert result.verdict is Verdict.IDENTICAL
    assert result.not_compared == ["batch"]
    assert column(tmp_path / "batches", "batch") == [row // 2 for row in range(24)]


def test_other_batches_of_the_same_samples_are_told(shards: str, tmp_path: Path) -> None:
    for size in (2, 3):
        with record(pipeline(shards).batched(size), tmp_path / str(size)) as twin:
            list(twin)

    assert audit(tmp_path / "2", tmp_path / "3").verdict is Verdict.REGROUPED


def test_batches_of_a_stage_of_ones_own_are_known_by_their_keys(
    shards: str, tmp_path: Path
) -> None:
    with record(pipeline(shards, None).compose(in_pairs), tmp_path / "run") as twin:
        list(twin)

    assert column(tmp_path / "run", "batch") == [row // 2 for row in range(24)]


def test_what_is_taken_out_of_its_batch_is_a_sample(shards: str, tmp_path: Path) -> None:
    with record(pipeline(shards).batched(2).unbatched(), tmp_path / "run") as twin:
        list(twin)

    assert "batch" not in open_run(tmp_path / "run").streams["main"].columns


def test_batches_whose_rows_nobody_can_tell_are_lost_and_said(shards: str, tmp_path: Path) -> None:
    for name, batched in (("auto", None), ("whole", False)):
        loader = pipeline(shards).batched(2, collation_fn=str)
        with record(loader, tmp_path / name, batched=batched) as twin:
            list(twin)
    lost, whole = (open_run(tmp_path / name).streams["main"] for name in ("auto", "whole"))

    assert (lost.rows, lost.lost, lost.complete) == (0, 12, False)
    assert (whole.rows, whole.lost, whole.complete) == (12, 0, True)


def test_tuples_are_known_by_their_content(shards: str, tmp_path: Path) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", None)):
        with record(pipeline(shards, seed).to_tuple("npy", "cls"), tmp_path / name) as samples:
            list(samples)

    assert audit(tmp_path / "a", tmp_path / "b").verdict is Verdict.IDENTICAL
    assert audit(tmp_path / "a", tmp_path / "c").verdict is Verdict.REORDERED


def test_a_field_can_name_the_records(shards: str, tmp_path: Path) -> None:
    with record(pipeline(shards, None), tmp_path / "run", ids="cls") as samples:
        found = [sample["cls"] for sample in samples]

    assert column(tmp_path / "run", "record") == found


def test_the_twin_is_a_pipeline_that_a_torch_loader_takes(shards: str, tmp_path: Path) -> None:
    with record(pipeline(shards), tmp_path / "run") as twin:
        assert isinstance(twin, wds.WebDataset)
        assert isinstance(twin, IterableDataset)
        assert len(list(DataLoader(twin, batch_size=None))) == 24
        assert len(list(DataLoader(twin, batch_size=None, num_workers=1))) == 24
        assert not hasattr(twin, "__len__")

    assert open_run(tmp_path / "run").rows == 24


def test_its_length_and_its_epochs_can_be_set(shards: str, tmp_path: Path) -> None:
    with record(pipeline(shards), tmp_path / "run") as twin:
        assert len(twin.with_length(7, silent=True)) == 7
        assert len(list(twin.with_epoch(30))) == 30
        assert len(list(copy.copy(twin))) == len(list(copy.deepcopy(twin))) == 30

    assert column(tmp_path / "run", "epoch") == [0] * 30


def test_a_pipeline_of_ones_own_class_is_told_its_epoch(shards: str, tmp_path: Path) -> None:
    class Told(wds.WebDataset):  # type: ignore[misc]  # the library has no types
        epoch = 0

        def set_epoch(self, epoch: int) -> None:
            self.epoch = epoch

    with record(Told(shards, shardshuffle=False), tmp_path / "run") as twin:
        twin.set_epoch(4)
        list(twin)

    assert twin.epoch == 4
    assert set(column(tmp_path / "run", "epoch")) == {4}


def test_what_would_be_made_of_the_twin_is_refused(shards: str, tmp_path: Path) -> None:
    with record(pipeline(shards), tmp_path / "run") as twin:
        with pytest.raises(UsageError, match="give it all of its stages first"):
            twin.batched(4)
        with pytest.raises(UsageError, match="recorded already"):
            record(twin, tmp_path / "again")


def test_each_iteration_is_an_epoch(shards: str, tmp_path: Path) -> None:
    with record(pipeline(shards), tmp_path / "run") as samples:
        list(samples)
        list(samples)

    assert column(tmp_path / "run", "epoch") == [0] * 24 + [1] * 24
    assert open_run(tmp_path / "run").streams["main"].declared.shuffle is True
