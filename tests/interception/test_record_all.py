"""Loops that one cannot reach, recorded by a block around them, or a decorator."""

from __future__ import annotations

import copy
import pickle
import sys
from pathlib import Path
from typing import Any

import grain
import pytest
import tensorflow as tf
from torch.utils.data import DataLoader, Dataset

from detloader import (
    check,
    name,
    open_run,
    record_all,
    to_grain,
)
from detloader.errors import UsageError
from detloader.manifest.verify import verify_run
from detloader.naming import name_of
from tests.support.blocks import fit, interleaved, loader, records


def test_what_a_block_iterates_is_recorded(tmp_path: Path) -> None:
    torch_loader = loader(batch_size=4)
    with record_all(tmp_path / "run"):
        fit(name(torch_loader, "torch"))
        fit(name(tf.data.Dataset.range(5), "tensorflow"))
        fit(name(grain.MapDataset.range(6), "grain"))
        fit(name(grain.MapDataset.range(7).to_iter_dataset(), "stream"))
        fit(name(to_grain(list(range(3))), "ours"))
        fit(name(interleaved(), "interleaved"))
    run = verify_run(tmp_path / "run")

    assert {stream: run.streams[stream].rows for stream in run.streams} == {
        "torch": 8,
        "tensorflow": 5,
        "grain": 6,
        "stream": 7,
        "ours": 3,
        "interleaved": 5,
    }
    assert run.complete
    assert records(tmp_path / "run", "interleaved") == list(range(5))


@pytest.mark.parametrize("meant", [False, True])
def test_ranks_that_are_meant_to_read_all_of_a_loader_are_declared_with_its_name(
    meant: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = {"config": {"replication": True}} if meant else None
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank in range(2):
        monkeypatch.setenv("RANK", str(rank))
        with record_all(tmp_path / "run"):
            fit(name(loader(batch_size=4), "validation", declared=declared))
    found = check(tmp_path / "run")

    assert [finding.rule for finding in found.findings] == ([] if meant else ["partition-broken"])


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"bogus": 1}, "unknown field `bogus`; known fields are loader"),
        ({"shuffle": "yes"}, "Expected `bool`, got `str` - at `\\$.shuffle`"),
    ],
)
def test_what_no_run_can_declare_is_refused_where_it_is_said(
    declared: dict[str, Any], message: str
) -> None:
    batches = loader(batch_size=4)
    with pytest.raises(UsageError, match=message):
        name(batches, "train", declared=declared)

    assert name_of(batches) is None


def test_a_loader_that_fails_to_tell_of_itself_is_iterated_all_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Sized(Dataset[int]):
        def __len__(self) -> int:
            raise OSError("the index is not there")

        def __getitem__(self, place: int) -> int:
            return place

    with record_all(tmp_path / "run"):
        fit(DataLoader(Sized(), sampler=[1, 0]))

    assert "not recorded: OSError: the index is not there" in caplog.text


def test_what_a_loader_is_meant_to_be_is_a_mapping() -> None:
    wrong: Any = "eval"
    with pytest.raises(UsageError, match="mapping of fields"):
        name(loader(), "validation", declared=wrong)


@pytest.mark.parametrize("run", ["", "a\0b", b"ab", 3, None])
def test_a_run_that_no_folder_can_be_is_refused_at_once(run: Any) -> None:
    with pytest.raises(UsageError, match="a run is the name of a folder"):
        record_all(run)


def test_loaders_are_afterwards_what_they_were(tmp_path: Path) -> None:
    batches = loader(batch_size=3)
    before = dict(vars(batches))
    with record_all(tmp_path / "run"):
        fit(batches)

    assert type(batches) is DataLoader
    assert vars(batches) == before
    assert [batch[0].tolist() for batch in batches] == [[0, 1, 2], [3, 4, 5], [6, 7]]


def test_workers_that_persist_serve_the_loader_after_the_block(tmp_path: Path) -> None:
    batches = name(loader(batch_size=3, num_workers=1, persistent_workers=True), "train")
    with record_all(tmp_path / "run"):
        fit(batches)

    assert [batch[0].tolist() for batch in batches] == [[0, 1, 2], [3, 4, 5], [6, 7]]
    assert records(tmp_path / "run", "train") == list(range(8))


def test_a_second_block_is_another_run(tmp_path: Path) -> None:
    loaders = {
        "torch": loader(),
        "grain": grain.MapDataset.range(4),
        "tensorflow": tf.data.Dataset.range(5),
    }
    for stream, one in loaders.items():
        name(one, stream)
    for run in ("a", "b"):
        with record_all(tmp_path / run):
            for one in loaders.values():
                fit(one)

    for stream in loaders:
        assert records(tmp_path / "a", stream) == records(tmp_path / "b", stream) != []


def test_each_iteration_is_an_epoch_of_the_same_stream(tmp_path: Path) -> None:
    numbers = grain.MapDataset.range(8)
    loaders = {"torch": loader(), "grain": numbers, "stream": numbers.to_iter_dataset()}
    with record_all(tmp_path / "run"):
        for stream, one in loaders.items():
            for _ in range(3):
                fit(name(one, stream))
    for stream in loaders:
        table = open_run(tmp_path / "run").streams[stream].table(["epoch"])
        assert table["epoch"].to_pylist() == [0] * 8 + [1] * 8 + [2] * 8


def test_a_stream_is_recorded_though_others_are_made_of_it(tmp_path: Path) -> None:
    below = name(grain.MapDataset.range(6).to_iter_dataset(), "below")
    above = name(below.map(lambda number: number + 1), "above")
    with record_all(tmp_path / "run"):
        for dataset in (above, below, above, below):
            fit(dataset)

    for stream in ("above", "below"):
        assert records(tmp_path / "run", stream) == [*range(6), *range(6)]
    assert ([*above], [*below]) == ([*range(1, 7)], [*range(6)])


def test_a_stream_that_another_is_made_of_is_not_iterated_by_that(tmp_path: Path) -> None:
    class Above(grain.IterDataset[int]):  # type: ignore[misc]  # Grain has no types here
        def __init__(self, below: grain.IterDataset[int]) -> None:
            super().__init__(below)

        def __iter__(self) -> grain.DatasetIterator[int]:
            return self._parent.__iter__()

    below = grain.MapDataset.range(6).to_iter_dataset()
    with record_all(tmp_path / "run"):
        above = Above(below), Above(below)

    assert not (tmp_path / "run").exists()
    assert [[*one] for one in above] == [[*range(6)]] * 2


def test_an_error_in_the_block_is_the_blocks_own(tmp_path: Path) -> None:
    def fail_after_an_epoch() -> None:
        fit(name(loader(), "train"))
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"), record_all(tmp_path / "run"):
        fail_after_an_epoch()

    assert records(tmp_path / "run", "train") == list(range(8))


def test_copies_of_a_recorded_loader_are_loaders(tmp_path: Path) -> None:
    batches = loader()
    with record_all(tmp_path / "run"):
        fit(batches)
    copies = [copy.copy(batches), pickle.loads(pickle.dumps(batches))]  # noqa: S301

    assert [len([*one]) for one in copies] == [8, 8]


def test_a_loader_can_be_pickled_while_it_is_recorded(tmp_path: Path) -> None:
    batches = loader()
    with record_all(tmp_path / "run"):
        fit(batches)
        sent = pickle.loads(pickle.dumps(batches))  # noqa: S301

    assert type(sent) is DataLoader
    assert len([*sent]) == 8


def test_frameworks_are_afterwards_what_they_were(tmp_path: Path) -> None:
    kinds = [DataLoader, tf.data.Dataset, grain.MapDataset, type(to_grain([1]))]
    kinds += [base for kind in kinds for base in kind.__mro__]
    finders = [*sys.meta_path]
    before = [dict(vars(kind)) for kind in kinds]
    with record_all(tmp_path / "outer"):
        with record_all(tmp_path / "inner"):
            fit(name(loader(), "a"))
        during = [dict(vars(kind)) for kind in kinds]
        fit(name(loader(), "b"))

    assert [dict(vars(kind)) for kind in kinds] == before != during
    assert sys.meta_path == finders


def test_a_change_that_somebody_made_since_then_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mine(loader: Any) -> Any:
        return iter([])

    monkeypatch.setattr(DataLoader, "__iter__", DataLoader.__iter__)  # what is put back at the end
    with record_all(tmp_path / "run"):
        monkeypatch.setattr(DataLoader, "__iter__", mine)

    assert vars(DataLoader)["__iter__"] is mine


def test_a_dataset_that_is_being_recorded_can_be_sent_elsewhere(tmp_path: Path) -> None:
    numbers = grain.MapDataset.range(4)
    with record_all(tmp_path / "run"):
        fit(numbers)
        copies = [copy.copy(numbers), pickle.loads(pickle.dumps(numbers))]  # noqa: S301
        workers = numbers.to_iter_dataset().mp_prefetch(grain.MultiprocessingOptions(num_workers=1))
        assert [*workers] == [0, 1, 2, 3]

    assert [[*one] for one in copies] == [[0, 1, 2, 3]] * 2


def test_an_iterator_that_is_never_used_leaves_no_stream(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with record_all(tmp_path / "none"):
        iterators = [iter(loader()), iter(grain.MapDataset.range(4)), iter(to_grain([1]))]
    with record_all(tmp_path / "run"):
        iterators += [iter(name(loader(), "unused"))]
        fit(name(loader(), "used"))
        fit(name(loader(batch_size=9, drop_last=True), "empty"))

    assert not (tmp_path / "none").exists()
    assert "no loader that could be recorded" in caplog.text
    assert {*open_run(tmp_path / "run").streams} == {"used", "empty"}


def test_what_is_pickled_while_it_is_recorded_has_nothing_of_the_recording(tmp_path: Path) -> None:
    loaders = [loader(), grain.MapDataset.range(4)]
    with record_all(tmp_path / "run"):
        for one in loaders:
            fit(one)
        pickled = [pickle.dumps(one) for one in loaders]

    assert not any(b"detloader." in each for each in pickled)


def test_a_loader_of_grains_gives_its_name_to_what_it_iterates(tmp_path: Path) -> None:
    sampler = grain.samplers.IndexSampler(
        3, shard_options=grain.sharding.NoSharding(), num_epochs=1
    )
    loader = grain.DataLoader(data_source=[5, 6, 7], sampler=sampler)
    with record_all(tmp_path / "run"):
        assert list(name(loader, "train")) == [5, 6, 7]

    assert [*open_run(tmp_path / "run").streams] == ["train"]
