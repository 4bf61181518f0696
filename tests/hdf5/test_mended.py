"""What zea 0.1.0 gets wrong is right here; each fault of docs/hdf5.md has its test."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from detloader.errors import MissingFileError, RangeError, UsageError
from tests.support.hdf5_files import (
    CountingAugmentation,
    add_noise,
    first_values,
    load,
    numbered,
    write,
    write_file,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("mended"), 7, 7, 7)


# Seeds and epochs


def test_shards_without_a_seed_are_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="needs a seed, the same on every rank: give seed=0"):
        load(folder, seed=None, num_shards=2, shard_index=0)


def test_shards_without_a_seed_that_draw_nothing_are_no_fault(folder: Path) -> None:
    loaders = [
        load(folder, seed=None, num_shards=2, shard_index=index, shuffle=False)
        for index in range(2)
    ]

    assert sorted(first_values(loaders[0]) + first_values(loaders[1])) == sorted(
        first_values(load(folder))
    )


@pytest.mark.parametrize("reshuffle", [True, False])
def test_shuffle_0_gives_the_order_of_seed_0(folder: Path, reshuffle: bool) -> None:
    wanted = first_values(load(folder, seed=0, reshuffle_each_epoch=False))
    loader = load(folder, seed=5, reshuffle_each_epoch=reshuffle)

    loader.shuffle(0)

    assert first_values(loader.to_iter_dataset()) == wanted
    assert first_values(loader) == wanted


def test_looking_does_not_shift_later_epochs(folder: Path) -> None:
    epochs = [first_values(loader) for loader in [load(folder)] for _ in range(3)]
    loader = load(folder)

    found = []
    for _ in range(3):
        iter(loader)
        next(iter(loader.to_iter_dataset()))
        _ = loader.dataset[0], loader.shape, len(loader), repr(loader)
        iter(loader).get_state()
        loader.shuffle()
        found.append(first_values(loader))

    assert found == epochs


def test_a_loop_that_is_left_early_was_an_epoch(folder: Path) -> None:
    epochs = [first_values(loader) for loader in [load(folder)] for _ in range(2)]
    loader = load(folder)

    assert first_values([next(iter(loader))]) == epochs[0][:4]
    assert first_values(loader) == epochs[1]


# Draws


@pytest.mark.parametrize("threads", [0, 1, 4, 16])
def test_random_crops_do_not_depend_on_threads(tmp_path: Path, threads: int) -> None:
    arguments = {"image_size": (1, 1), "resize_type": "random_crop"}
    image = np.arange(100, dtype=np.float32).reshape(1, 10, 10)
    path = write_file(tmp_path / "a.hdf5", np.repeat(image, 40, axis=0))

    def crops(threads: int) -> list[list[int]]:
        loader = load(path, num_threads=threads, **arguments)
        return [first_values(loader) for _ in range(2)]

    found = crops(threads)
    assert found == crops(0)
    assert found[0] != found[1]
    assert len(set(found[0])) > 10


def test_crops_follow_the_position_whoever_reads_it(tmp_path: Path) -> None:
    image = np.arange(100, dtype=np.float32).reshape(1, 10, 10)
    path = write_file(tmp_path / "a.hdf5", np.repeat(image, 41, axis=0))
    arguments = {"image_size": (1, 1), "resize_type": "random_crop", "dataset_repetitions": 2}
    whole = first_values(load(path, **arguments))

    for index in range(3):
        part = first_values(load(path, num_shards=3, shard_index=index, **arguments))
        assert part == whole[:41][index::3] + whole[41:][index::3]


@pytest.mark.parametrize("threads", [0, 16])
def test_a_stateful_augmentation_is_called_in_order(folder: Path, threads: int) -> None:
    augmentation = CountingAugmentation()
    loader = load(folder, num_threads=threads, augmentation=augmentation, shuffle=False)

    first = [batch.flat[0] for batch in loader]

    plain = [batch.flat[0] for batch in load(folder, shuffle=False)]
    assert first == [value + call for call, value in enumerate(plain, 1)]
    assert augmentation.calls == len(loader)


def test_nothing_but_iterating_calls_the_augmentation(folder: Path) -> None:
    augmentation = CountingAugmentation()
    loader = load(folder, augmentation=augmentation)

    _ = loader.shape, len(loader), repr(loader), loader.shape

    assert augmentation.calls == 0


def test_an_augmentation_that_changes_the_shape_is_seen_without_being_used(folder: Path) -> None:
    class Halves(CountingAugmentation):
        def __call__(self, batch: Any) -> Any:
            return super().__call__(batch)[:, :1]

    augmentation = Halves()
    loader = load(folder, augmentation=augmentation)

    assert loader.shape == (4, 1, 2, 1)
    assert augmentation.calls == 0
    assert next(iter(loader)).shape == loader.shape


@pytest.mark.parametrize("threads", [0, 16])
def test_an_augmentation_that_takes_a_generator_draws_by_seed_epoch_and_position(
    folder: Path, threads: int
) -> None:
    def epochs(**arguments: Any) -> list[list[float]]:
        loader = load(folder, augmentation=add_noise, **arguments)
        return [[float(v) for batch in loader for v in batch.flat] for _ in range(2)]

    found = epochs(num_threads=threads)

    assert found == epochs()
    assert found != epochs(seed=1)
    plain = [[float(v) for b in loader for v in b.flat] for loader in [load(folder)] * 2]
    noise = [np.subtract(f, p).round(4).tolist() for f, p in zip(found, plain, strict=True)]
    assert noise[0] != noise[1]


def test_the_construction_reads_no_frame_and_checks_no_value(tmp_path: Path) -> None:
    write(tmp_path, 7)

    loader = load(tmp_path, image_range=(50, 60), shuffle=False)

    with pytest.raises(RangeError, match=r"f_0\.hdf5#0:1: 0\.0 is below"):
        next(iter(loader))


# Files


@pytest.mark.parametrize("first", ["a", "b"])
def test_files_come_in_the_natural_order_of_their_relative_paths(
    tmp_path: Path, first: str
) -> None:
    names = ["2/scan_9_1", "10/scan_1_1", "2/scan_10_7", "2/scan_2_8", "2/scan_1_9", "2/x", "2/y"]
    root = tmp_path / f"year_1999_{first}"
    for number, name in enumerate(names if first == "a" else reversed(names)):
        write_file(root / f"{name}.hdf5", numbered(1, number))

    loader = load(root, shuffle=False)

    assert [file.name.removesuffix(".hdf5") for file in loader.plan.files] == [
        "2/scan_1_9",
        "2/scan_2_8",
        "2/scan_9_1",
        "2/scan_10_7",
        "2/x",
        "2/y",
        "10/scan_1_1",
    ]


def test_unsorted_files_come_in_the_order_given_whatever_the_file_system_lists(
    tmp_path: Path,
) -> None:
    for name in ("b/2", "b/10", "a/1"):
        write_file(tmp_path / f"{name}.hdf5", numbered(1))

    loader = load([tmp_path / "b", tmp_path / "a"], sort_files=False)

    assert [file.name for file in loader.plan.files] == ["b/10.hdf5", "b/2.hdf5", "a/1.hdf5"]


def test_a_path_that_does_not_exist_is_an_error(folder: Path) -> None:
    gone = folder / "gone.hdf5"

    with pytest.raises(MissingFileError, match=r"gone\.hdf5 does not exist") as caught:
        load([folder, gone])

    assert isinstance(caught.value, FileNotFoundError)
    assert caught.value.path == str(gone)


def test_a_file_that_is_given_twice_is_said(folder: Path) -> None:
    with pytest.warns(UserWarning, match=r"f_0\.hdf5 is given more than once"):
        loader = load([folder / "f_0.hdf5", folder / "f_0.hdf5"], shuffle=False)

    assert first_values(loader) == [*range(7), *range(7)]


def test_validating_writes_nothing_into_the_folder(folder: Path) -> None:
    before = sorted(folder.rglob("*"))

    list(load(folder))

    assert sorted(folder.rglob("*")) == before


# Values


def test_a_nan_does_not_disable_the_range_check(tmp_path: Path) -> None:
    frames = numbered(3)
    frames[1, 0, 0] = np.nan
    path = write_file(tmp_path / "a.hdf5", frames)

    assert len(list(load(path, image_range=(0, 2), batch_size=1))) == 3
    with pytest.raises(RangeError, match="above image_range upper bound 1"):
        list(load(path, image_range=(0, 1), batch_size=1))
    frames[1, 1, 1] = 99
    path = write_file(tmp_path / "b.hdf5", frames)
    with pytest.raises(RangeError, match=r"b\.hdf5#1:2: 99\.0 is above"):
        list(load(path, image_range=(0, 2), shuffle=False))


def test_colour_frames_are_resized_along_height_and_width(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.hdf5", np.zeros((3, 12, 14, 3), np.float32))

    assert load(path, image_size=(5, 6)).shape == (3, 5, 6, 3, 1)
    assert load(path, image_size=(5, 6), compatibility="zea-0.1").shape == (3, 12, 5, 6, 1)


def test_frames_of_another_axis_are_joined(tmp_path: Path) -> None:
    data = np.arange(2 * 5 * 3 * 4, dtype=np.float32).reshape(2, 5, 3, 4)
    path = write_file(tmp_path / "a.hdf5", data)
    arguments = {"n_frames": 5, "initial_frame_axis": 1, "insert_frame_axis": False}

    (batch,) = load(path, **arguments)

    np.testing.assert_array_equal(batch[0], np.concatenate(list(data.swapaxes(0, 1)), axis=-1))
    assert load(path, **arguments, compatibility="zea-0.1").shape == (1, 5, 3, 8)


def test_crop_or_pad_takes_its_arguments(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.hdf5", numbered(1, 5))

    (batch,) = load(
        path,
        image_size=(4, 4),
        resize_type="crop_or_pad",
        resize_kwargs={"constant_values": 9},
    )

    assert batch[0, :, :, 0].tolist() == [[9] * 4, [9, 5, 5, 9], [9, 5, 5, 9], [9] * 4]


# What the loader tells


def test_summary_counts_folders_whose_names_begin_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "train", 3)
    write(tmp_path / "train2", 5)
    write(tmp_path / "train" / "deep", 2)

    load(tmp_path).summary()

    assert capsys.readouterr().out.splitlines() == [
        "Dataloader with 10 total samples:",
        f"  {tmp_path}/train: 3 samples (30.0%)",
        f"  {tmp_path}/train/deep: 2 samples (20.0%)",
        f"  {tmp_path}/train2: 5 samples (50.0%)",
    ]


def test_directory_splits_take_the_first_files_of_each_path(tmp_path: Path) -> None:
    write(tmp_path / "train", *[1] * 10)
    write(tmp_path / "train2", *[1] * 4)

    loader = load([tmp_path / "train", tmp_path / "train2"], directory_splits=[0.2, 0.5])

    assert [file.name for file in loader.plan.files] == [
        "train/f_0.hdf5",
        "train/f_1.hdf5",
        "train2/f_0.hdf5",
        "train2/f_1.hdf5",
    ]


# Reading ahead, shards, processes


def test_reading_ahead_counts_samples(tmp_path: Path) -> None:
    options = load(
        write(tmp_path, 600), batch_size=16, num_threads=16, prefetch_buffer_size=50
    ).plan.read_options()

    assert options.prefetch_buffer_size == 4
    assert options.num_threads == 4


@pytest.mark.parametrize(
    ("remainder", "lengths"), [("keep", [4, 3, 3]), ("pad", [4, 4, 4]), ("drop", [3, 3, 3])]
)
def test_unequal_shards_can_be_evened_out(
    tmp_path: Path, remainder: str, lengths: list[int]
) -> None:
    write(tmp_path, 10)
    shards = [
        first_values(load(tmp_path, num_shards=3, shard_index=index, shard_remainder=remainder))
        for index in range(3)
    ]

    assert [len(shard) for shard in shards] == lengths
    values = [value for shard in shards for value in shard]
    repeats = {"keep": 0, "pad": 2, "drop": 0}[remainder]
    assert len(values) - len(set(values)) == repeats


def test_a_loader_can_be_pickled_in_the_middle_of_its_epochs(folder: Path) -> None:
    loader = load(folder, num_threads=4, augmentation=add_noise)
    list(loader)

    twin = pickle.loads(pickle.dumps(loader))  # noqa: S301

    for found, wanted in zip(twin, copy.copy(loader), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_an_error_stops_the_iteration_and_is_raised_again(tmp_path: Path) -> None:
    frames = numbered(20)
    frames[5] = -1
    path = write_file(tmp_path / "a.hdf5", frames)
    steps = iter(load(path, shuffle=False, num_threads=4, image_range=(0, 20)))
    next(steps)

    for _ in range(3):
        with pytest.raises(RangeError, match=r"a\.hdf5#5:6: -1\.0 is below"):
            next(steps)


def test_what_is_done_to_samples_leaves_the_cache_as_it_was_read(folder: Path) -> None:
    def zero(batch: Any) -> Any:
        batch[...] = 0
        return batch

    loader = load(folder, cache=True, batch_size=None, augmentation=zero, return_filename=True)
    for _, told in loader:
        told.clear()

    assert loader.plan.pipeline.cache is not None
    kept = [loader.plan.pipeline.cache.get(row) for row in range(21)]
    assert [int(block.flat[0]) for block in kept if block is not None] == sorted(
        first_values(load(folder))
    )
    assert all(told for _, told in loader)


def test_handles_stay_below_the_limit_of_open_files(tmp_path: Path) -> None:
    write(tmp_path, *[2] * 40)
    loader = load(tmp_path, num_threads=16, batch_size=2, file_handle_cache_capacity=5)

    def opened() -> int:
        ids = h5py.h5f.get_obj_ids(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_FILE)
        return sum(h5py.h5f.get_name(each).startswith(bytes(tmp_path)) for each in ids)

    for _ in range(3):
        assert len(first_values(loader)) == 80
        assert opened() <= 5
    loader.close()
    assert opened() == 0
    assert len(first_values(loader)) == 80
