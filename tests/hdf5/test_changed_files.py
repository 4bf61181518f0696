"""Files that change while a loader is in use: none is read as if nothing had happened."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from detloader.errors import FileError
from tests.support.hdf5_files import first_values, load, numbered, write, write_file


def replace(path: Path) -> None:
    write_file(path.with_suffix(".new"), numbered(4, 50)).replace(path)


def edit(path: Path) -> None:
    """Change the last value, and put the time of the change back."""
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(-4, os.SEEK_END)
        file.write(b"\1\1\1\1")
    # The clock of a file system ticks a few hundred times a second.
    while path.stat().st_ctime_ns == before.st_ctime_ns:
        os.utime(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES = [replace, edit]


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changed_before_the_first_batch_is_named(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    path = write_file(tmp_path / "a.hdf5", numbered(4))
    loader = load(path)
    change(path)

    with pytest.raises(FileError, match=r"a\.hdf5 was (removed or replaced|changed)"):
        next(iter(loader))


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changed_while_it_was_not_held_open_is_named(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    write(tmp_path, 4, 4, 4)
    loader = load(tmp_path, shuffle=False, file_handle_cache_capacity=1)
    first_values(loader)
    change(tmp_path / "f_1.hdf5")
    steps = iter(loader)
    next(steps)

    with pytest.raises(FileError, match=r"f_1\.hdf5 was changed or replaced.*make a new") as caught:
        next(steps)
    assert caught.value.path == str(tmp_path / "f_1.hdf5")


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changed_before_a_loader_was_unpickled_is_named(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    path = write_file(tmp_path / "a.hdf5", numbered(4))
    sent = pickle.dumps(load(path))
    assert first_values(pickle.loads(sent)) == first_values(load(path))  # noqa: S301
    change(path)

    with pytest.raises(FileError, match=r"a\.hdf5 was changed or replaced"):
        next(iter(pickle.loads(sent)))  # noqa: S301


def test_a_file_that_is_only_read_by_others_is_unchanged(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.hdf5", numbered(4))
    loader = load(path)
    path.read_bytes()

    assert sorted(first_values(loader)) == [0, 1, 2, 3]


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_regular_file_is_refused(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = write_file(tmp_path / "a.hdf5", numbered(4))
    loader = load(path)
    loader.close()
    path.unlink()
    make(path)

    with pytest.raises(FileError, match=r"a\.hdf5 is no regular file: leave it out"):
        next(iter(loader))


@pytest.mark.parametrize("validate", [True, False])
@pytest.mark.parametrize("given", [".", "pipe.hdf5"])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, given: str, validate: bool) -> None:
    write(tmp_path, 3)
    os.mkfifo(tmp_path / "pipe.hdf5")

    with pytest.raises(FileError, match=r"pipe\.hdf5 is no regular file"):
        load(tmp_path / given, validate=validate)
