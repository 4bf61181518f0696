"""A Dataloader records itself: what was read, drawn and delivered, whoever read it."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import grain
import numpy as np
import pytest

from detloader import audit, check, open_run, record
from detloader.adapters.detloader.hdf5 import RecordedDataloader, remake
from detloader.errors import RunExistsError, UsageError
from detloader.findings import Verdict
from detloader.generators.folding import fold_draws
from detloader.hdf5.loader import Dataloader
from detloader.manifest.content import sample_digest
from detloader.manifest.verify import verify_run
from tests.support.hdf5_files import (
    CountingAugmentation,
    add_noise,
    first_values,
    load,
    numbered,
    write_file,
)
from tests.support.loaders import rows_of

CROPS: dict[str, Any] = {
    "image_size": (2, 2),
    "resize_type": "random_crop",
    "augmentation": add_noise,
    "dataset_repetitions": 2,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recording")
    for number in range(3):
        write_file(path / "deep" / f"f_{number}.hdf5", numbered(7, 100 * number, (5, 5)))
    return path


def fingerprint(loader: Any, run: Path, epochs: int = 1) -> str:
    with record(loader, run) as twin:
        for _ in range(epochs):
            for _ in twin:
                pass
    found = verify_run(run).fingerprint
    assert found is not None
    return found


def test_threads_and_workers_leave_one_fingerprint(folder: Path, tmp_path: Path) -> None:
    loaders = [load(folder, num_threads=threads, **CROPS) for threads in (0, 1, 4, 16)]
    found = {
        fingerprint(loader, tmp_path / f"loader{number}", epochs=2)
        for number, loader in enumerate(loaders)
    }
    streams = [
        load(folder, num_threads=threads, **CROPS)
        .to_iter_dataset()
        .mp_prefetch(grain.MultiprocessingOptions(num_workers=workers))
        for threads, workers in ((0, 0), (0, 2), (4, 2))
    ]
    of_streams = {
        fingerprint(stream, tmp_path / f"stream{number}") for number, stream in enumerate(streams)
    }

    assert len(found) == len(of_streams) == 1


def test_another_seed_leaves_another_fingerprint(folder: Path, tmp_path: Path) -> None:
    one = fingerprint(load(folder, shuffle=False, **CROPS), tmp_path / "a")
    other = fingerprint(load(folder, shuffle=False, **{**CROPS, "seed": 1}), tmp_path / "b")

    assert one != other


def test_recording_changes_nothing(folder: Path, tmp_path: Path) -> None:
    plain = load(folder, num_threads=4, return_filename=True, **CROPS)
    with record(load(folder, num_threads=4, return_filename=True, **CROPS), tmp_path / "r") as twin:
        for _ in range(2):
            steps, plain_steps = iter(twin), iter(plain)
            for (found, told), (wanted, plain_told) in zip(steps, plain_steps, strict=True):
                np.testing.assert_array_equal(found, wanted)
                assert told["filename"].tolist() == plain_told["filename"].tolist()
                assert steps.get_state() == plain_steps.get_state()


def test_the_twin_is_a_dataloader_with_all_members(folder: Path, tmp_path: Path) -> None:
    loader = load(folder)
    with record(loader, tmp_path / "r") as twin:
        assert isinstance(twin, Dataloader)
        assert (len(twin), twin.shape, repr(twin)) == (len(loader), loader.shape, repr(loader))
        twin.set_epoch(3)
        first = first_values(twin)
        assert record(loader, tmp_path / "r") is twin
    loader.set_epoch(3)
    assert first_values(loader) == first
    assert set(rows_of(tmp_path / "r", "epoch")) == {3}


def test_rows_say_which_frames_came_and_what_they_held(folder: Path, tmp_path: Path) -> None:
    with record(load(folder, n_frames=2, shuffle=False), tmp_path / "r") as twin:
        batches = list(twin)

    rows = rows_of(tmp_path / "r", "record", "epoch", "batch", "draws", "content", "raw", "index")
    samples = [sample for batch in batches for sample in batch]
    frames = numbered(7, 0, (5, 5))
    assert [row[0] for row in rows] == [
        f"deep/f_{file}.hdf5#{start}:{start + 2}" for file in range(3) for start in (0, 2, 4)
    ]
    assert [row[1:4] for row in rows] == [(0, number // 4, None) for number in range(9)]
    assert [row[4] for row in rows] == [sample_digest(sample) for sample in samples]
    assert rows[1][5] == sample_digest(frames[2:4])
    assert [row[6] for row in rows] == list(range(9))


def test_ids_tell_strides_and_further_axes(tmp_path: Path) -> None:
    write_file(tmp_path / "d" / "a" / "x.h5", np.zeros((4, 2, 3)))
    write_file(tmp_path / "d" / "b" / "x.h5", np.zeros((4, 2, 3)))
    loader = load(
        tmp_path / "d",
        n_frames=2,
        frame_index_stride=2,
        additional_axes_iter=(2,),
        shuffle=False,
    )
    with record(loader, tmp_path / "r") as twin:
        list(twin)

    found = rows_of(tmp_path / "r", "record")
    assert found[:3] == ["a/x.h5#0:4:2,2=0", "a/x.h5#0:4:2,2=1", "a/x.h5#0:4:2,2=2"]
    assert found[3] == "b/x.h5#0:4:2,2=0"


def test_the_content_is_the_same_with_and_without_batches_and_as_tensors(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    contents = []
    cases: list[dict[str, Any]] = [
        {},
        {"batch_size": None},
        {"convert_to_tensor": True},
        {"return_filename": True},
    ]
    for number, arguments in enumerate(cases):
        with record(load(folder, **arguments), tmp_path / f"{number}") as twin:
            list(twin)
        contents.append(rows_of(tmp_path / f"{number}", "content"))

    assert contents[0] == contents[1] == contents[2] == contents[3]
    assert None not in contents[0]


def test_crops_and_augmentations_are_told_apart_by_their_draws(
    folder: Path, tmp_path: Path
) -> None:
    def draws(name: str, **arguments: Any) -> list[Any]:
        with record(load(folder, **arguments), tmp_path / name) as twin:
            list(twin)
        return rows_of(tmp_path / name, "draws")

    crop = {"image_size": (2, 2), "resize_type": "random_crop"}
    crops = draws("crops", **crop)
    noise = draws("noise", augmentation=add_noise)
    both = draws("both", augmentation=add_noise, **crop)

    assert len(set(crops)) == 21
    assert len(set(noise)) == 6
    assert len(set(both)) == 21
    assert both == fold_draws(np.array(crops, np.uint64), np.array(noise, np.uint64)).tolist()
    assert set(draws("none")) == {None}


def test_shards_are_ranks(folder: Path, tmp_path: Path) -> None:
    for index in (1, 0):
        loader = load(folder, num_shards=2, shard_index=index, shard_remainder="pad")
        with record(loader, tmp_path / "r") as twin:
            list(twin)
            assert record(loader, tmp_path / "r") is twin

    stream = open_run(tmp_path / "r").streams["main"]
    rows = stream.table()
    assert [rank.header.rank for rank in stream.ranks] == [0, 1]
    assert stream.ranks[0].header.ranks == 2
    assert rows["padding"].to_pylist() == [False] * 21 + [True]
    assert set(rows["index"].to_pylist()[:-1]) == set(range(21))


def test_passes_and_iterations_are_epochs(folder: Path, tmp_path: Path) -> None:
    with record(load(folder, dataset_repetitions=2, batch_size=8), tmp_path / "r") as twin:
        iter(twin)
        next(iter(twin))
        list(twin)

    rows = rows_of(tmp_path / "r", "epoch", "batch")
    assert rows[:8] == [(0, 0)] * 8
    assert [epoch for epoch, _ in rows[8:]] == [2] * 21 + [3] * 21
    assert [batch for _, batch in rows[8:]] == [number // 8 for number in range(42)]


def test_what_was_taken_up_says_so(folder: Path, tmp_path: Path) -> None:
    loader = load(folder)
    steps = iter(loader)
    next(steps)
    rest = first_values(load_from(folder, steps.get_state()))
    with record(load(folder), tmp_path / "r") as twin:
        taken_up = iter(twin)
        taken_up.set_state(steps.get_state())
        assert first_values(taken_up) == rest
        list(twin)

    rows = rows_of(tmp_path / "r", "epoch", "batch", "resumed")
    assert rows[0] == (0, 1, True)
    assert rows[17] == (1, 0, False)


def load_from(folder: Path, state: dict[str, Any]) -> Any:
    steps = iter(load(folder))
    steps.set_state(state)
    return steps


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"shuffle": False},
        {"reshuffle_each_epoch": False},
        {"drop_remainder": True},
        {"batch_size": None},
        {"dataset_repetitions": 2},
        CROPS,
        {"augmentation": CountingAugmentation()},
        {"limit_n_samples": 10},
        {"n_frames": 2, "overlapping_blocks": True},
    ],
)
def test_a_sound_run_is_clean(folder: Path, tmp_path: Path, arguments: dict[str, Any]) -> None:
    fingerprint(load(folder, **arguments), tmp_path / "r", epochs=3)

    result = check(tmp_path / "r")

    assert [finding.rule for finding in result.findings if finding.severity != "note"] == []


@pytest.mark.parametrize("remainder", ["keep", "pad", "drop"])
def test_a_sound_run_of_shards_is_clean(folder: Path, tmp_path: Path, remainder: str) -> None:
    for index in range(4):
        loader = load(folder, num_shards=4, shard_index=index, shard_remainder=remainder, **CROPS)
        with record(loader, tmp_path / "r") as twin:
            for _ in range(2):
                list(twin)

    result = check(tmp_path / "r")

    assert [finding.rule for finding in result.findings if finding.severity != "note"] == []


@pytest.mark.parametrize("span", [(0, 21), (5, 6), (3, 14), (20, 21)])
def test_rows_can_be_made_again_alone(folder: Path, tmp_path: Path, span: tuple[int, int]) -> None:
    arguments = {**CROPS, "dataset_repetitions": 1}
    fingerprint(load(folder, **arguments), tmp_path / "r")

    made = remake(load(folder, **arguments), *span)

    (rank,) = open_run(tmp_path / "r").streams["main"].ranks
    recorded = rank.table(made.column_names)
    assert made.to_pylist() == recorded.slice(span[0], span[1] - span[0]).to_pylist()


def test_rows_that_depend_on_those_before_are_not_made_alone(folder: Path) -> None:
    with pytest.raises(UsageError, match="without a parameter rng"):
        remake(load(folder, augmentation=CountingAugmentation()), 0, 1)


@pytest.mark.parametrize("level", ["digest", "order", "full"])
def test_each_level_can_be_recorded(folder: Path, tmp_path: Path, level: str) -> None:
    with record(load(folder, **CROPS), tmp_path / "r", level=level) as twin:
        list(twin)

    stream = verify_run(tmp_path / "r").streams["main"]
    assert stream.rows == 42
    assert ("raw" in stream.columns) is (level != "order")


def test_ids_of_the_users_own_stand_for_places_in_the_table(folder: Path, tmp_path: Path) -> None:
    names = [f"frame-{number}" for number in range(21)]
    with record(load(folder), tmp_path / "r", ids=names) as twin:
        list(twin)

    for name, index in rows_of(tmp_path / "r", "record", "index"):
        assert name == names[index]


def test_what_was_declared_is_what_the_loader_does(folder: Path, tmp_path: Path) -> None:
    fingerprint(load(folder, seed=3, reshuffle_each_epoch=False, n_frames=2), tmp_path / "r")

    declared = open_run(tmp_path / "r").streams["main"].declared
    assert (declared.loader, declared.seed, declared.source_size) == ("Dataloader", 3, 9)
    assert declared.order_policy == "fixed"
    assert isinstance(declared.config, dict)
    assert declared.config["n_frames"] == 2
    assert declared.config["compatibility"] is None
    assert declared.replacement is False


@pytest.mark.filterwarnings("ignore:.*given more than once")
def test_samples_that_share_an_id_are_not_declared_to_come_once(
    folder: Path, tmp_path: Path
) -> None:
    path = folder / "deep" / "f_0.hdf5"
    for name, paths, ids in (("files", [path, path], None), ("ids", path, ["patient"] * 7)):
        with record(load(paths), tmp_path / name, ids=ids) as twin:
            list(twin)
        declared = open_run(tmp_path / name).streams["main"].declared
        assert not isinstance(declared.replacement, bool)


def test_a_run_of_shards_without_a_seed_is_not_clean(folder: Path, tmp_path: Path) -> None:
    for index in range(3):
        shard = {"num_shards": 3, "shard_index": index, "seed": None}
        with record(load(folder, compatibility="zea-0.1", **shard), tmp_path / "r") as twin:
            for _ in range(2):
                list(twin)

    found = {finding.rule for finding in check(tmp_path / "r").findings}

    assert found & {"coverage-hole", "partition-broken"}


def test_an_error_in_the_loop_leaves_a_run_that_was_broken_off(
    folder: Path, tmp_path: Path
) -> None:
    def fail() -> None:
        with record(load(folder), tmp_path / "r") as twin:
            next(iter(twin))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert not open_run(tmp_path / "r").complete


def test_another_loader_is_refused_on_the_same_path(folder: Path, tmp_path: Path) -> None:
    fingerprint(load(folder), tmp_path / "r")

    with pytest.raises(RunExistsError):
        record(load(folder), tmp_path / "r")


def test_a_recorded_loader_goes_to_workers_as_a_plain_one(folder: Path, tmp_path: Path) -> None:
    with record(load(folder), tmp_path / "r") as twin:
        assert isinstance(twin, RecordedDataloader)
        plain = pickle.loads(pickle.dumps(twin))  # noqa: S301
        assert type(plain) is Dataloader
        assert first_values(plain) == first_values(twin)


def test_an_audit_names_the_compatibility_that_one_run_asked_for(tmp_path: Path) -> None:
    # The published loader sorts by the last number alone.
    for number, name in enumerate(("scan_10_7", "scan_2_8", "scan_1_9")):
        write_file(tmp_path / "data" / f"{name}.hdf5", numbered(5, 10 * number))
    for name, compatibility in (("published", "zea-0.1"), ("own", None), ("again", None)):
        loader = load(tmp_path / "data", shuffle=False, compatibility=compatibility)
        with record(loader, tmp_path / name) as recorded:
            list(recorded)
    found = audit(tmp_path / "published", tmp_path / "own").findings

    assert audit(tmp_path / "own", tmp_path / "again").verdict is Verdict.IDENTICAL
    assert [finding.rule for finding in found] == ["version-stream"]
    assert found[0].evidence["compatibility"] == ["zea-0.1", None]
