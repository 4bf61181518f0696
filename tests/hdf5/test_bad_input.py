"""Bad files and arguments: a typed error that names the file, and no half-read sample."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import grain
import h5py
import numpy as np
import pytest

from detloader.errors import (
    BatchError,
    DetloaderError,
    FileError,
    FormatError,
    LoaderError,
    MissingFileError,
    MissingKeyError,
    UsageError,
)
from detloader.hdf5.loader import Dataloader
from tests.support.hdf5_files import first_values, load, numbered, write, write_file

LAYOUTS: list[dict[str, Any]] = [{}, {"chunks": (1, 2, 2)}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("bad"), 3, 3)


# Files, at construction


def test_an_empty_file_is_named(tmp_path: Path) -> None:
    write(tmp_path, 3)
    (tmp_path / "empty.hdf5").touch()

    with pytest.raises(FileError, match=r"empty\.hdf5 is empty: restore it") as caught:
        load(tmp_path)

    assert caught.value.path == str(tmp_path / "empty.hdf5")


def test_a_file_that_is_no_hdf5_is_named(tmp_path: Path) -> None:
    (tmp_path / "text.hdf5").write_text("not HDF5 at all" * 100)

    with pytest.raises(FileError, match=r"text\.hdf5 is no HDF5 file"):
        load(tmp_path)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_file_that_is_cut_short_is_named(tmp_path: Path, layout: dict[str, Any]) -> None:
    path = write_file(tmp_path / "a.hdf5", numbered(50), **layout)
    os.truncate(path, path.stat().st_size - 40)

    with pytest.raises(FileError, match=r"a\.hdf5 is cut short: restore it"):
        load(tmp_path)


def test_a_file_that_another_program_writes_to_is_named(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.hdf5", numbered(3))
    program = "import h5py, sys; f = h5py.File(sys.argv[1], 'r+'); print(flush=True); input()"
    writer = subprocess.Popen(
        [sys.executable, "-c", program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert writer.stdout is not None
    writer.stdout.readline()
    try:
        with pytest.raises(FileError, match=r"a\.hdf5 is locked: close it"):
            load(tmp_path)
    finally:
        writer.communicate(b"\n")

    assert first_values(load(tmp_path, shuffle=False)) == [0, 1, 2]


@pytest.mark.parametrize("name", [f"{'a' * 300}.hdf5", f"{'a/' * 3000}b.hdf5"])
def test_a_name_that_is_too_long_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileError, match=r"a\.hdf5|b\.hdf5") as caught:
        load(tmp_path / name)

    assert "File name too long: correct or drop it" in str(caught.value)


def test_a_dead_link_is_named(tmp_path: Path) -> None:
    (tmp_path / "link.hdf5").symlink_to(tmp_path / "gone.hdf5")

    with pytest.raises(MissingFileError, match=r"link\.hdf5 does not exist"):
        load(tmp_path)


def test_a_file_with_damaged_inner_parts_is_named(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.hdf5", numbered(3))
    damaged = bytearray(path.read_bytes())
    for place in range(96, len(damaged) - 200):
        damaged[place] ^= 0x5A
    path.write_bytes(damaged)

    with pytest.raises(DetloaderError, match=r"a\.hdf5"):
        load(tmp_path, validate=False)


def test_an_empty_folder_and_no_path_at_all_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.HDF5").touch()

    with pytest.raises(UsageError, match=r"holds no \.hdf5 or \.h5 file"):
        load(tmp_path)
    with pytest.raises(UsageError, match="names no file"):
        load([])
    with pytest.raises(UsageError, match="give paths as text"):
        load([3])
    with pytest.raises(UsageError, match=r"an empty path: give '\.'"):
        load([tmp_path, ""])


def test_links_to_folders_are_not_followed_and_told(tmp_path: Path) -> None:
    write(tmp_path / "disk", 3)
    write(tmp_path / "set" / "own", 2)
    for name in ("b", "a"):
        (tmp_path / "set" / name).symlink_to(tmp_path / "disk")
    (tmp_path / "set" / "own" / "up").symlink_to(tmp_path / "set")
    (tmp_path / "set" / "own" / "f_9.hdf5").symlink_to(tmp_path / "disk" / "f_0.hdf5")

    with pytest.warns(UserWarning, match=r"set has links to folders, as .*/set/a, which") as told:
        loader = Dataloader(tmp_path / "set", batch_size=1)
    assert told[0].filename == __file__
    assert [file.name for file in loader.plan.files] == ["own/f_0.hdf5", "own/f_9.hdf5"]
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    assert len(load(tmp_path / "link").plan.files) == 1


def test_a_folder_of_links_alone_says_why_it_holds_nothing(tmp_path: Path) -> None:
    write(tmp_path / "disk", 3)
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "a").symlink_to(tmp_path / "disk")

    with pytest.raises(UsageError, match=r"but behind links to folders, as .*/set/a, which"):
        load(tmp_path / "set")


def test_a_file_of_another_suffix_is_refused(folder: Path) -> None:
    other = (folder / "f_0.hdf5").rename(folder / "other.hdf")
    try:
        with pytest.raises(FileError, match=r"other\.hdf is no HDF5 file by its name"):
            load(other)
    finally:
        other.rename(folder / "f_0.hdf5")


def test_a_file_that_is_not_of_the_zea_format_is_refused_unless_that_is_not_asked(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.hdf5"
    with h5py.File(path, "w") as file:
        file["frames"] = numbered(3)

    for paths in (path, tmp_path):
        with pytest.raises(FormatError, match=r"a\.hdf5"):
            load(paths, key="frames")
        assert first_values(load(paths, key="frames", validate=False, shuffle=False)) == [0, 1, 2]


# Keys


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("data/imagee", "data/image/values"),
        ("image", "data/image/values"),
        ("data/image", "data/image/values"),
        ("data/segmentation/values", "data/segmentation/labels"),
        ("nothing_like_it", "data/image/values"),
    ],
)
def test_a_missing_key_is_a_key_error_that_names_near_ones(
    tmp_path: Path, key: str, near: str
) -> None:
    with h5py.File(tmp_path / "a.hdf5", "w") as file:
        file.attrs["zea_version"] = "0.1.0"
        file["data/image/values"] = numbered(3)
        file["data/segmentation/labels"] = numbered(3)

    with pytest.raises(MissingKeyError, match=rf"a\.hdf5 has no dataset '{key}'.*{near}") as caught:
        load(tmp_path, key=key)

    assert isinstance(caught.value, KeyError)


def test_a_key_does_not_end_at_a_nul(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.hdf5", numbered(3))

    with pytest.raises(MissingKeyError, match=r"did you mean data/image"):
        load(path, key="data/image\0more", validate=False)


@pytest.mark.parametrize("key", ["data/image/values", "/data/image/values"])
@pytest.mark.parametrize("track", ["track_0", "track_1", "left ventricle"])
def test_a_single_track_stands_for_the_whole_file(tmp_path: Path, track: str, key: str) -> None:
    path = tmp_path / "a.hdf5"
    with h5py.File(path, "w") as file:
        file.attrs["zea_version"] = "0.1.0"
        file[f"tracks/{track}/data/image/values"] = numbered(3)
    assert first_values(load(path, key=key, shuffle=False)) == [0, 1, 2]

    with h5py.File(path, "r+") as file:
        file["tracks/track_9/data/image/values"] = numbered(3)
    with pytest.raises(MissingKeyError, match=f"tracks/{track}/data/image/values"):
        load(path, key=key)


def test_tracks_that_are_no_group_are_no_tracks(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.hdf5", "w") as file:
        file["tracks"] = numbered(1)

    with pytest.raises(MissingKeyError, match="it has tracks"):
        load(tmp_path, key="data/image/values", validate=False)


@pytest.mark.parametrize("kind", [np.float32, str])
def test_a_dataset_without_values_is_refused_as_that(tmp_path: Path, kind: type) -> None:
    path = write_file(tmp_path / "a.hdf5", h5py.Empty(h5py.string_dtype() if kind is str else kind))

    with pytest.raises(UsageError, match=r"data/image of .*a\.hdf5 is empty, without a shape"):
        load(path)


@pytest.mark.parametrize("data", [["a", "b"], np.ones(3, complex), np.zeros(3, "i4,f4")])
def test_what_holds_no_real_numbers_is_refused(tmp_path: Path, data: Any) -> None:
    path = write_file(tmp_path / "a.hdf5", data)

    with pytest.raises(UsageError, match=r"data/image of .*a\.hdf5 holds .*no real numbers"):
        load(path)


def test_a_single_number_has_no_frames(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a\.hdf5 holds a single number"):
        load(write_file(tmp_path / "a.hdf5", 3.0))


# Ragged files


def test_ragged_files_are_named_at_construction(tmp_path: Path) -> None:
    for name, shape in (("a", (4, 5)), ("b", (4, 5)), ("c", (4, 6))):
        write_file(tmp_path / f"{name}.hdf5", np.zeros((2, *shape)))

    with pytest.raises(BatchError, match=r"\(4, 5, 1\) in a\.hdf5, b\.hdf5; \(4, 6, 1\) in c"):
        load(tmp_path)


def test_ragged_files_that_are_resized_or_not_batched_are_loaded(tmp_path: Path) -> None:
    write_file(tmp_path / "a.hdf5", np.zeros((2, 4, 5)))
    write_file(tmp_path / "b.hdf5", np.zeros((1, 6, 7)))

    assert [b.shape for b in load(tmp_path, image_size=(3, 3))] == [(3, 3, 3, 1)]
    samples = load(tmp_path, batch_size=None, shuffle=False)
    assert [s.shape for s in samples] == [(4, 5, 1), (4, 5, 1), (6, 7, 1)]
    assert len(list(load(tmp_path, batch_size=1))) == 3


def test_files_with_other_numbers_of_axes_are_named(tmp_path: Path) -> None:
    write_file(tmp_path / "a.hdf5", np.zeros((2, 4, 5)))
    write_file(tmp_path / "b.hdf5", np.zeros((2, 4)))

    with pytest.raises(UsageError, match=r"3 axes in a\.hdf5, 2 in b\.hdf5"):
        load(tmp_path)


# Files, during an epoch


@pytest.mark.parametrize("threads", [0, 4])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_file_that_vanishes_during_an_epoch_is_named(
    tmp_path: Path, layout: dict[str, Any], threads: int
) -> None:
    for name in ("a", "b"):
        write_file(tmp_path / f"{name}.hdf5", numbered(40), **layout)
    steps = iter(load(tmp_path, num_threads=threads, prefetch_buffer_size=4))
    next(steps)
    (tmp_path / "b.hdf5").unlink()

    for _ in range(2):
        with pytest.raises(MissingFileError, match=r"b\.hdf5 was removed or replaced") as caught:
            list(steps)
    assert caught.value.path == str(tmp_path / "b.hdf5")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_of_a_file_that_is_cut_short_during_an_epoch_nothing_half_read_comes(
    tmp_path: Path, layout: dict[str, Any]
) -> None:
    path = write_file(tmp_path / "a.hdf5", numbered(400, 1), **layout)
    steps = iter(load(path, shuffle=False))
    given = [next(steps)]
    os.truncate(path, path.stat().st_size - 3000)

    with pytest.raises(FileError, match=r"a\.hdf5"):
        given.extend(steps)
    assert first_values(given) == list(range(1, 1 + 4 * len(given)))


def test_a_file_that_was_replaced_by_another_shape_is_named(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.hdf5", numbered(9))
    loader = load(path)
    loader.close()
    path.unlink()
    write_file(path, numbered(5))

    with pytest.raises(FileError, match=r"a\.hdf5 was changed or replaced by another file"):
        list(loader)


def test_a_file_error_comes_whole_from_a_worker_process(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.hdf5", numbered(40))
    stream = load(path).to_iter_dataset()
    path.unlink()
    steps = iter(stream.mp_prefetch(grain.MultiprocessingOptions(num_workers=1)))

    with pytest.raises(MissingFileError, match=r"a\.hdf5 does not exist") as caught:
        next(steps)
    steps.close()

    assert caught.value.path == str(path)


# Arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *[
            ({name: value}, f"{name} must be an integer of at least 1")
            for name in (
                "batch_size",
                "n_frames",
                "frame_index_stride",
                "limit_n_frames",
                "limit_n_samples",
                "dataset_repetitions",
                "num_shards",
                "file_handle_cache_capacity",
            )
            for value in (0, -1, 2.7, True, "3")
        ],
        *[
            ({name: value}, f"{name} must be an integer of at least 0")
            for name in ("num_threads", "prefetch_buffer_size", "seed", "shard_index")
            for value in (-1, 1.5, "a")
        ],
        ({"num_shards": 2}, "say by shard_index which one"),
        ({"num_shards": 2, "shard_index": 2}, "shard_index must be below num_shards, 2, not 2"),
        ({"shard_index": 7}, "shard_index must be below num_shards, 1, not 7"),
        *[
            (
                {"num_shards": 9, "shard_index": index, "shard_remainder": remainder},
                "shard 8 of 9 has none of 6; lower num_shards to at most 6",
            )
            for index in (0, 5, 6, 8)
            for remainder in ("keep", "drop")
        ],
        *[
            (
                {"num_shards": 4, "shard_index": index, "batch_size": 2, "drop_remainder": True},
                "leaves no batch of 2 of shard 3; lower batch_size",
            )
            for index in range(4)
        ],
        ({"batch_size": 7, "drop_remainder": True}, "drop_remainder leaves no batch of 7"),
        ({"initial_frame_axis": 3}, "initial_frame_axis 3 is no axis"),
        ({"initial_frame_axis": 1.5}, "initial_frame_axis must be given as integers"),
        ({"frame_axis": 3}, "frame_axis 3 is no axis of a sample"),
        ({"additional_axes_iter": (3,)}, "additional_axes_iter 3 is no axis"),
        ({"additional_axes_iter": (1, -2)}, "names an axis twice"),
        ({"additional_axes_iter": (0,)}, "or that of the frames"),
        ({"additional_axes_iter": 1}, "additional_axes_iter must be given as integers"),
        ({"key": ""}, "key must name a dataset"),
        ({"augmentation": 3}, "augmentation must be callable"),
        ({"normalization_range": (0, 1)}, "image_range must be set"),
        ({"image_range": (1, 0)}, "lower bound first"),
        ({"resize_type": "resize"}, "resize_type is 'resize', but there is no image_size"),
        ({"resize_axes": (9, 9)}, r"resize_axes is \(9, 9\), but there is no image_size"),
        ({"resize_kwargs": {"nonsense": 1}}, "resize_kwargs is .*, but there is no image_size"),
        ({"image_size": (3,)}, "image_size"),
        ({"image_size": (1, 1), "resize_type": "nearest"}, "resize_type is 'nearest'"),
        ({"shard_remainder": "even"}, "shard_remainder must be one of 'keep', 'pad', 'drop'"),
        ({"compatibility": "zea-0.2"}, "compatibility must be one of None, 'zea-0.1'"),
        *[
            ({name: 2**31}, f"{name} must be below 2\\*\\*31, not 2147483648")
            for name in ("batch_size", "n_frames", "frame_index_stride", "dataset_repetitions")
        ],
        *[
            ({name: np.array([1, 2])}, f"{name} must be True or False")
            for name in ("shuffle", "cache", "prefetch", "validate", "convert_to_tensor")
        ],
        *[({"shuffle": value}, "shuffle must be True or False") for value in ("False", 2, None)],
        *[
            (
                {"image_size": (1, 1), "resize_kwargs": {name: value}},
                f"{name} must be True or False, not",
            )
            for name in ("antialias", "crop_to_aspect_ratio", "pad_to_aspect_ratio")
            for value in ("no", None)
        ],
        *[
            ({"image_size": (1, 1), name: np.array(2)}, name)
            for name in ("image_size", "resize_axes", "resize_type", "resize_kwargs")
        ],
        ({"image_range": np.array(2)}, "image_range is array"),
        ({"image_range": (0, 9), "normalization_range": np.array(2)}, "normalization_range is"),
        ({"additional_axes_iter": np.array(1)}, "additional_axes_iter must be given as integers"),
        ({"compatibility": np.array([1, 2])}, "compatibility must be one of"),
        ({"directory_splits": [0.5, 0.5]}, "2 directory_splits for 1 paths"),
        ({"directory_splits": [1.5]}, "must lie between 0 and 1"),
        ({"directory_splits": 0.1}, "leave no file"),
        *[
            ({"directory_splits": value}, "must lie between 0 and 1")
            for value in (object(), np.array(0.5), np.float32(1.5), [None], "a")
        ],
    ],
)
def test_an_argument_that_makes_no_sense_is_refused_by_name(
    folder: Path, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        load(folder, **arguments)


def test_a_limit_beyond_all_there_is_limits_nothing(folder: Path) -> None:
    for limit in (10**9, sys.maxsize, 10**30):
        loader = load(folder, limit_n_samples=limit, limit_n_frames=limit)
        assert sum(len(batch) for batch in loader) == 6


def test_an_augmentation_that_fails_names_its_batch_and_fails_again(folder: Path) -> None:
    def fail_at_the_second(batch: Any, rng: Any) -> Any:
        if len(batch) < 4:
            raise StopIteration("no\nmore")
        return batch

    batches = iter(load(folder, augmentation=fail_at_the_second))
    assert len(next(batches)) == 4
    for _ in range(2):
        with pytest.raises(LoaderError, match=r"failed on batch 1: StopIteration: no more$"):
            next(batches)


def test_an_augmentation_returns_images(folder: Path) -> None:
    with pytest.raises(LoaderError, match="returned None for batch 0: return images"):
        next(iter(load(folder, augmentation=lambda batch: None)))


def test_numbers_of_numpy_are_integers(folder: Path) -> None:
    loader = load(folder, batch_size=np.int64(2), image_size=np.array([3, 3]), seed=np.uint8(3))

    assert loader.shape == (2, 3, 3, 1)


def fail(batch: Any) -> Any:
    raise KeyError("mask")


@pytest.mark.parametrize(
    ("augmentation", "message"),
    [
        (fail, r"failed on zeros of shape \(4, 2, 2, 1\): KeyError: 'mask'$"),
        (lambda batch: None, r"returned None for zeros of shape \(4, 2, 2, 1\): return images"),
        (lambda batch, rng: batch.missing, "AttributeError: 'numpy.ndarray' object"),
        (lambda batch: [1, 2], "returned list, which has no shape"),
    ],
)
def test_a_shape_that_an_augmentation_does_not_give_says_so(
    folder: Path, augmentation: Any, message: str
) -> None:
    loader = load(folder, augmentation=augmentation)
    for _ in range(2):
        with pytest.raises(LoaderError, match=message):
            _ = loader.shape


def test_shares_and_flags_may_be_numbers_of_numpy(folder: Path) -> None:
    loader = load(folder, directory_splits=np.float32(0.5), shuffle=np.False_, cache=1)

    assert [file.name for file in loader.plan.files] == ["f_0.hdf5"]
    assert first_values(loader) == [0, 1, 2]
    assert len(load(folder, resize_kwargs={}).shape) == 4


def test_unknown_arguments_are_a_type_error_that_names_them(folder: Path) -> None:
    with pytest.raises(TypeError, match=r"'lazy', 'offset'.*directory_splits and file_handle"):
        load(folder, lazy=True, offset=3)


@pytest.mark.parametrize("epoch", [-1, 1.0, None])
def test_no_other_epochs_can_be_set(folder: Path, epoch: Any) -> None:
    with pytest.raises(UsageError, match="epoch must be an integer of at least 0"):
        load(folder).set_epoch(epoch)


def test_no_other_seeds_can_be_shuffled_with(folder: Path) -> None:
    with pytest.raises(UsageError, match="seed must be an integer of at least 0 or None"):
        load(folder).shuffle(-1)
