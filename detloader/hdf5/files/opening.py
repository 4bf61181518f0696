"""One dataset of one file, open for reading; whatever is wrong with the file is named."""

from __future__ import annotations

import contextlib
import difflib
import errno
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from detloader.errors import (
    DetloaderError,
    FileError,
    MissingFileError,
    MissingKeyError,
    UsageError,
)
from detloader.extras import require
from detloader.hdf5.files.outside import files_outside
from detloader.hdf5.files.watching import FileState, Watch

__all__ = ["FAILURES", "OpenDataset", "Values", "naming", "open_file", "unreadable"]

h5py = require("h5py", extra="hdf5")

_NUMBERS = "biuf"

FAILURES = (OSError, RuntimeError, KeyError, ValueError, TypeError)
"""What h5py raises where a file is damaged."""

_GROUPS_OF_TRACKS = (b"data/", b"scan/")


class Values(NamedTuple):
    """Where values lie in a file.

    Attributes:
        descriptor: the system's number of the open file.
        offset: bytes before the first value.
        strides: bytes from one index to the next on each axis.
    """

    descriptor: int
    offset: int
    strides: tuple[int, ...]


class OpenDataset:
    """A dataset and the file that holds it; both are closed when nobody refers to it any more.

    By low-level calls, which cost a fifth of those of `h5py.File`.

    Attributes:
        path: the file.
        dataset: h5py's dataset.
        shape: its shape.
        dtype: NumPy's type for its values.
        values: where the values lie in the file; None unless they do so as in memory, one
            after another, unpacked and of a type that NumPy has, too.
    """

    def __init__(self, path: str, key: str) -> None:
        """Open a file.

        Raises:
            MissingFileError: there is no such file.
            MissingKeyError: it has no such dataset.
            FileError: it cannot be opened, being locked, cut short or no HDF5 file.
            UsageError: the dataset holds no real numbers, or nothing at all.
        """
        self.path = path
        self._watch = Watch()
        self._file = open_file(path)
        with naming(path):
            own = _number_or_path(self._file, path)
            # Before anything is read: what changes from here on is seen.
            self._watch.add(path, own)
            stored = _dataset(self._file, key, path)
            self.dataset = h5py.Dataset(stored, readonly=True)
            if self.dataset.shape is None:
                raise UsageError(f"{key} of {path} is empty, without a shape: give another key")
            self._holder = h5py.h5i.get_file_id(stored)
            # By an external link.
            linked = self._holder.id != self._file.id
            if linked:
                holder = os.fsdecode(h5py.h5f.get_name(self._holder))
                self._watch.add(holder, _number_or_path(self._holder, holder))
            layout = stored.get_create_plist()
            for file in files_outside(stored, layout, path):
                self._watch.add(file, file)
            self.shape: tuple[int, ...] = self.dataset.shape
            self.dtype: np.dtype[Any] = self.dataset.dtype
            # Offsets are those in the holder.
            self.values = None if linked or isinstance(own, str) else self._find_values(own, layout)
        if self.dtype.kind not in _NUMBERS:
            raise UsageError(
                f"{key} of {path} holds {self.dtype}, no real numbers: give another key"
            )

    def check(self) -> None:
        """Refuse a file that is gone, or was changed since it was opened.

        HDF5 fills what a shortened file lacks with zeros, and says nothing.

        Raises:
            MissingFileError: it was removed or replaced.
            FileError: it was changed.
        """
        self._watch.check()

    @property
    def states(self) -> tuple[FileState, ...]:
        """States of all files that hold its values, or lead to them, when it was opened."""
        return self._watch.states

    def _find_values(self, descriptor: int, layout: Any) -> Values | None:
        stored = self.dataset.id
        if layout.get_layout() != h5py.h5d.CONTIGUOUS or layout.get_external_count():
            return None
        size = math.prod(self.shape) * self.dtype.itemsize
        # None of it is there before something was written.
        if stored.get_storage_size() != size or not size:
            return None
        if stored.get_type() != h5py.h5t.py_create(self.dtype, logical=True):
            return None
        strides = tuple(
            math.prod(self.shape[axis + 1 :]) * self.dtype.itemsize
            for axis in range(len(self.shape))
        )
        return Values(descriptor, stored.get_offset(), strides)


def _number_or_path(file: Any, path: str) -> int | str:
    """Return the system's own number of an open file; its path where a driver has none."""
    plain = file.get_access_plist().get_driver() == h5py.h5fd.SEC2
    number: int | str = file.get_vfd_handle() if plain else path
    return number


@contextlib.contextmanager
def naming(path: str) -> Iterator[None]:
    """Name the file in errors of HDF5 and the system; damage shows itself by errors of any kind.

    Raises:
        FileError: in place of another error.
    """
    try:
        yield
    except DetloaderError:
        raise
    except FAILURES as error:
        raise unreadable(path, error) from error


def open_file(path: str) -> Any:
    """Open a file as h5py's low-level object; it is closed when nobody refers to it.

    Raises:
        FileError: see `OpenDataset`.
    """
    if not Path(path).is_file() and Path(path).exists():
        # To open a pipe would wait for ever.
        raise FileError(f"{path} is no regular file: leave it out", path)
    try:
        return h5py.h5f.open(os.fsencode(path), h5py.h5f.ACC_RDONLY)
    except OSError as error:
        raise _cannot_open(path, error) from error


def _cannot_open(path: str, error: OSError) -> FileError:
    if not Path(path).exists():
        return MissingFileError(f"{path} does not exist: it was removed, or is a dead link", path)
    if not os.access(path, os.R_OK):
        return FileError(f"{path} may not be read: change its permissions", path)
    if error.errno in {errno.EAGAIN, errno.EACCES}:
        message = f"{path} is locked: close it in the program that writes to it"
    elif Path(path).stat().st_size == 0:
        message = f"{path} is empty: restore it or leave it out"
    elif "truncated" in str(error):
        message = f"{path} is cut short: restore it or leave it out"
    elif "signature" in str(error):
        message = f"{path} is no HDF5 file: restore it or leave it out"
    else:
        return unreadable(path, error)
    return FileError(message, path)


def unreadable(path: str, error: Exception) -> FileError:
    """Return the error that says that reading a file failed."""
    what = " ".join(str(error).split())
    return FileError(f"{path} cannot be read: {what}; restore it or leave it out", path)


def _dataset(file: Any, key: str, path: str) -> Any:
    try:
        found = h5py.h5o.open(file, _stored_name(file, key.encode()))
    except (KeyError, ValueError) as error:
        raise _no_such_key(file, key, path) from error
    # HDF5 reads a name up to its first NUL.
    if not isinstance(found, h5py.h5d.DatasetID) or "\0" in key:
        raise _no_such_key(file, key, path)
    return found


def _stored_name(file: Any, key: bytes) -> bytes:
    """Return where the key leads: with a single track its data are under that track."""
    inner = key.lstrip(b"/")
    if not inner.startswith(_GROUPS_OF_TRACKS) or inner.partition(b"/")[0] in file:
        return key
    tracks = h5py.h5o.open(file, b"tracks") if b"tracks" in file else None
    names = list(tracks) if isinstance(tracks, h5py.h5g.GroupID) else []
    return b"/".join([b"tracks", *names, inner]) if len(names) == 1 else key


def _no_such_key(file: Any, key: str, path: str) -> MissingKeyError:
    names: list[str] = []

    def collect(name: bytes, found: Any) -> None:
        if isinstance(found, h5py.h5d.DatasetID):
            names.append(name.decode(errors="replace"))

    h5py.h5o.visit(file, lambda name: collect(name, h5py.h5o.open(file, name)))
    # Behind the name itself, those that it is a part of, or whose last part it is.
    within = [name for name in names if key.strip("/") in name]
    near = list(dict.fromkeys([*within, *difflib.get_close_matches(key, names, cutoff=0.4)]))[:3]
    mend = (
        f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(names[:5]) or 'none'}"
    )
    return MissingKeyError(f"{path} has no dataset {key!r}: {mend}", path)
