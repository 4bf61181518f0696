"""Datasets whose values are in other files: read right, or refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from detloader.errors import FileError, MissingFileError
from tests.support.hdf5_files import first_values, load, numbered


def write_index(folder: Path, linked: Any) -> Path:
    """Write a file that leads to `raw.h5`, and is long enough to be read in its place."""
    with h5py.File(folder / "raw.h5", "w") as file:
        file["frames/image"] = numbered(5)
    path = folder / "index" / "a.hdf5"
    path.parent.mkdir()
    with h5py.File(path, "w") as file:
        file["data/other"] = np.full(4000, -777, np.float32)
        file["frames"] = h5py.ExternalLink("../raw.h5", "/frames")
        file["data/image"] = linked
    return path


LINKS = [
    h5py.ExternalLink("../raw.h5", "/frames/image"),
    h5py.SoftLink("/frames/image"),
]


@pytest.mark.parametrize("linked", LINKS)
@pytest.mark.parametrize("threads", [0, 4])
def test_frames_behind_an_external_link_are_those_of_the_linked_file(
    tmp_path: Path, linked: Any, threads: int
) -> None:
    path = write_index(tmp_path, linked)

    loader = load(path, validate=False, shuffle=False, num_threads=threads)

    assert first_values(loader) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("linked", LINKS)
@pytest.mark.parametrize("held", [True, False])
def test_a_linked_file_that_changed_is_named(tmp_path: Path, linked: Any, held: bool) -> None:
    loader = load(write_index(tmp_path, linked), validate=False)
    if not held:
        loader.close()
    with (tmp_path / "raw.h5").open("ab") as file:
        file.write(b"more")

    with pytest.raises(FileError, match=r"raw\.h5 was changed" if held else "was changed"):
        next(iter(loader))


def write_virtual(folder: Path, taken: int = 3) -> Path:
    """Write a virtual dataset of frames of two files."""
    layout = h5py.VirtualLayout((2 * taken, 2, 2), np.float32)
    for number in range(2):
        with h5py.File(folder / f"source{number}.h5", "w") as file:
            file["frames"] = numbered(3, 10 * number)
        source = h5py.VirtualSource(f"source{number}.h5", "frames", (3, 2, 2))
        layout[number * taken : (number + 1) * taken] = source[3 - taken :]
    with h5py.File(folder / "a.hdf5", "w") as file:
        file.create_group("data").create_virtual_dataset("image", layout)
    return folder / "a.hdf5"


@pytest.mark.parametrize(("taken", "values"), [(3, [0, 1, 2, 10, 11, 12]), (2, [1, 2, 11, 12])])
def test_a_virtual_dataset_is_read(tmp_path: Path, taken: int, values: list[int]) -> None:
    path = write_virtual(tmp_path, taken)

    assert first_values(load(path, validate=False, shuffle=False)) == values


def test_a_virtual_dataset_of_its_own_file_and_of_one_that_grows_is_read(tmp_path: Path) -> None:
    path, grows = tmp_path / "a.hdf5", (None, 2, 2)
    with h5py.File(path, "w") as file:
        frames = file.create_dataset("frames", data=numbered(3), maxshape=grows)
        for name, shape in (("all", None), ("growing", grows)):
            layout = h5py.VirtualLayout((3, 2, 2), np.float32, maxshape=shape)
            source, stop = h5py.VirtualSource(frames), h5py.h5s.UNLIMITED if shape else 3
            layout[:stop] = source[:stop]
            file.create_virtual_dataset(name, layout)

    for name in ("all", "growing"):
        assert first_values(load(path, key=name, validate=False, shuffle=False)) == [0, 1, 2]


def test_a_source_that_is_missing_is_named(tmp_path: Path) -> None:
    path = write_virtual(tmp_path)
    (tmp_path / "source1.h5").unlink()

    with pytest.raises(MissingFileError, match=r"a\.hdf5 lacks its source source1\.h5: restore"):
        load(path, validate=False)


@pytest.mark.parametrize("taken", [2, 3])
@pytest.mark.parametrize("left", [{"frames": numbered(2)}, {"frames/part": 1}, {"other": 1}])
def test_a_source_without_what_is_taken_from_it_is_named(
    tmp_path: Path, taken: int, left: dict[str, Any]
) -> None:
    path = write_virtual(tmp_path, taken)
    with h5py.File(tmp_path / "source1.h5", "w") as file:
        for name, value in left.items():
            file[name] = value

    with pytest.raises(FileError, match=r"a\.hdf5 lacks its source frames of .*source1\.h5"):
        load(path, validate=False)


def test_a_source_that_is_removed_during_an_epoch_is_named(tmp_path: Path) -> None:
    steps = iter(load(write_virtual(tmp_path), validate=False, shuffle=False, batch_size=1))
    next(steps)
    (tmp_path / "source1.h5").unlink()

    with pytest.raises(MissingFileError, match=r"source1\.h5 was removed or replaced"):
        list(steps)


def write_raw(folder: Path, *, room: int) -> Path:
    """Write a dataset whose first `room` bytes are in one file of raw values, all else in another.

    Each of them begins with four bytes that are none of its values.
    """
    values = numbered(5).tobytes()
    pieces = {"one.bin": values[:room], "two.bin": values[room:]}
    for name, piece in pieces.items():
        (folder / name).write_bytes(b"skip" + piece)
    places = [(str(folder / "one.bin"), 4, room), (str(folder / "two.bin"), 4, h5py.h5f.UNLIMITED)]
    with h5py.File(folder / "a.hdf5", "w") as file:
        file.create_dataset("data/image", (5, 2, 2), np.float32, external=places)
    return folder / "a.hdf5"


def test_values_in_raw_files_are_read(tmp_path: Path) -> None:
    path = write_raw(tmp_path, room=24)

    assert first_values(load(path, validate=False, shuffle=False)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("name", ["one.bin", "two.bin"])
def test_a_raw_file_that_is_missing_or_too_short_is_named(tmp_path: Path, name: str) -> None:
    path = write_raw(tmp_path, room=24)
    raw = tmp_path / name
    raw.write_bytes(raw.read_bytes()[:-1])
    with pytest.raises(FileError, match=rf"a\.hdf5 has its values in .*{name}, which is cut short"):
        load(path, validate=False)

    raw.unlink()
    with pytest.raises(MissingFileError, match=rf"a\.hdf5 lacks its values in .*{name}"):
        load(path, validate=False)
