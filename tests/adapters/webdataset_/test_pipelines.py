"""Pipelines of WebDataset, recorded as they are, over real shards."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import webdataset as wds

from detloader import audit, open_run, record
from detloader.findings import Verdict

# WebDataset leaves the shards that it read to the garbage collector, who complains.
pytestmark = pytest.mark.filterwarnings(
    "ignore:unclosed file:ResourceWarning",
    "ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning",
)


@pytest.fixture(autouse=True)
def _collect() -> Iterator[None]:
    """Let it complain here, and not in whatever test comes next."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def shards(tmp_path: Path) -> str:
    return write_shards(tmp_path / "shards")


def write_shards(folder: Path, shards: int = 3, records: int = 8) -> str:
    folder.mkdir()
    for shard in range(shards):
        with wds.TarWriter(str(folder / f"shard-{shard}.tar")) as writer:
            for number in range(records):
                values = np.full(2, 100 * shard + number, np.float32)
                writer.write({"__key__": f"{number:04}", "npy": values, "cls": number})
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


def test_methods_of_the_pipeline_make_pipelines_that_are_not_recorded(
    shards: str, tmp_path: Path
) -> None:
    with record(pipeline(shards), tmp_path / "run") as samples:
        assert len(list(samples.to_tuple("cls"))) == 24
        assert len(list(samples)) == 24

    assert open_run(tmp_path / "run").rows == 24


def test_each_iteration_is_an_epoch(shards: str, tmp_path: Path) -> None:
    with record(pipeline(shards), tmp_path / "run") as samples:
        list(samples)
        list(samples)

    assert column(tmp_path / "run", "epoch") == [0] * 24 + [1] * 24
    assert open_run(tmp_path / "run").streams["main"].declared.shuffle is True
