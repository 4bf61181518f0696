"""The HDF5 Dataloader and its streams, recorded by a block around the loop that iterates them."""

from __future__ import annotations

import pickle
from pathlib import Path

import grain
import pytest

from detloader import name, open_run, record, record_all
from tests.support.hdf5_files import first_values, load, write


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("files"), 7, 6)


def test_a_loader_is_one_stream_with_all_that_record_sees(folder: Path, tmp_path: Path) -> None:
    loader = name(load(folder, num_threads=2), "train")
    with record(load(folder), tmp_path / "alone") as twin:
        wanted = [first_values(twin) for _ in range(2)]
    with record_all(tmp_path / "run"):
        found = [first_values(loader) for _ in range(2)]
    run, alone = open_run(tmp_path / "run"), open_run(tmp_path / "alone")

    assert found == wanted
    assert [*run.streams] == ["train"]
    assert run.streams["train"].table() == alone.streams["main"].table()
    assert first_values(loader) == first_values(twin)


def test_a_stream_of_a_loader_is_recorded_and_the_loader_not_again(
    folder: Path, tmp_path: Path
) -> None:
    loader = name(load(folder), "loader")
    stream = name(loader.to_iter_dataset(), "stream")
    workers = loader.to_iter_dataset().mp_prefetch(grain.MultiprocessingOptions(num_workers=2))
    with record_all(tmp_path / "run"):
        first_values(loader)
        first_values(stream)
        first_values(name(workers, "workers"))
    run = open_run(tmp_path / "run")

    assert {stream: run.streams[stream].rows for stream in run.streams} == {
        "loader": 13,
        "stream": 13,
        "workers": 13,
    }


def test_shards_are_ranks_of_one_stream(folder: Path, tmp_path: Path) -> None:
    shards = [load(folder, num_shards=2, shard_index=index) for index in range(2)]
    for shard in shards:
        with record_all(tmp_path / "run"):
            first_values(name(shard, "train"))
    (stream,) = open_run(tmp_path / "run").streams.values()

    assert [rank.header.rank for rank in stream.ranks] == [0, 1]
    assert stream.rows == 13


def test_what_is_recorded_by_the_program_is_not_recorded_again(
    folder: Path, tmp_path: Path
) -> None:
    loader = load(folder)
    with record_all(tmp_path / "run"):
        first_values(loader)
        with record(loader, tmp_path / "own") as twin:
            first_values(twin)

    assert open_run(tmp_path / "own").rows == 13
    assert open_run(tmp_path / "run").rows == 13


def test_a_loader_that_is_being_recorded_can_be_sent_elsewhere(
    folder: Path, tmp_path: Path
) -> None:
    loader = load(folder)
    with record_all(tmp_path / "run"):
        first_values(loader)
        copy = pickle.loads(pickle.dumps(loader))  # noqa: S301

    assert first_values(copy) == first_values(loader)
