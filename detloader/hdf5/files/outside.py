"""What a dataset takes from other files than its own.

For what it does not find there HDF5 gives fill values, and says nothing. So it is looked
for before anything is read.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from detloader.errors import FileError, MissingFileError
from detloader.extras import require

__all__ = ["files_outside"]

h5py = require("h5py", extra="hdf5")


def files_outside(dataset: Any, layout: Any, path: str) -> list[str]:
    """Return the files that hold values of a dataset, none where all are in its own.

    Those of virtual datasets whose names are patterns cannot be told beforehand.

    Args:
        dataset: low-level object of h5py.
        layout: the property list that it was made with.
        path: the file that was opened, for errors.

    Raises:
        MissingFileError: one of them does not exist.
        FileError: one of them is too short, or lacks the dataset that is taken from it.
    """
    if layout.get_layout() == h5py.h5d.VIRTUAL:
        return list(dict.fromkeys(_sources(layout, _home(dataset), path)))
    if layout.get_external_count():
        size = math.prod(dataset.shape) * dataset.get_type().get_size()
        return list(_raw_files(layout, size, _home(dataset), path))
    return []


def _home(dataset: Any) -> Path:
    return Path(os.fsdecode(h5py.h5f.get_name(dataset))).absolute()


def _sources(layout: Any, home: Path, path: str) -> Iterator[str]:
    for number in range(layout.get_virtual_count()):
        name, key = layout.get_virtual_filename(number), layout.get_virtual_dsetname(number)
        # A pattern, of which HDF5 takes as many files as there are.
        if "%" in name + key:
            continue
        source = home if name == "." else _found(Path(name), home, path)
        shape = _shape(source, key)
        if shape is None or not _has_all(shape, layout, number):
            raise FileError(f"{path} lacks its source {key} of {source}: restore it", path)
        if source != home:
            yield str(source)


def _found(name: Path, home: Path, path: str) -> Path:
    """Return where HDF5 finds a source: beside the file, or from the working directory."""
    prefix = _prefix("HDF5_VDS_PREFIX", home)
    folders = [*([prefix] if prefix else []), home.parent, Path(), home.resolve().parent]
    # Of an absolute path that leads nowhere the file's name is left.
    names = [name, Path(name.name)] if name.is_absolute() else [name]
    places = [folder / each for each in names for folder in folders]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise MissingFileError(f"{path} lacks its source {name}: restore it", path)
    return found


def _shape(source: Path, key: str) -> tuple[int, ...] | None:
    """Return the shape of a file's dataset; None if there is none."""
    file = h5py.h5f.open(os.fsencode(source), h5py.h5f.ACC_RDONLY)
    try:
        found = h5py.h5o.open(file, key.encode())
    except KeyError:
        return None
    return found.shape if isinstance(found, h5py.h5d.DatasetID) else None


def _has_all(shape: tuple[int, ...], layout: Any, number: int) -> bool:
    """Tell whether a source of this shape has all that a virtual dataset takes from it."""
    taken = layout.get_virtual_srcspace(number)
    if taken.get_select_type() == h5py.h5s.SEL_ALL:
        wanted = layout.get_virtual_vspace(number).get_select_npoints()
        return bool(math.prod(shape) == wanted)
    if taken.is_regular_hyperslab():
        _, _, count, block = taken.get_regular_hyperslab()
        # As much as there is.
        if h5py.h5s.UNLIMITED in {*count, *block}:
            return True
    _, last = taken.get_select_bounds()
    return all(end < size for end, size in zip(last, shape, strict=True))


def _raw_files(layout: Any, size: int, home: Path, path: str) -> Iterator[str]:
    prefix = _prefix("HDF5_EXTFILE_PREFIX", home) or Path()
    for number in range(layout.get_external_count()):
        name, offset, room = layout.get_external(number)
        file = prefix / os.fsdecode(name)
        needed = min(size, room)
        if not file.exists():
            raise MissingFileError(f"{path} lacks its values in {file}: restore it", path)
        if file.stat().st_size < offset + needed:
            raise FileError(f"{path} has its values in {file}, which is cut short", path)
        size -= needed
        yield str(file)


def _prefix(variable: str, home: Path) -> Path | None:
    folder = os.environ.get(variable)
    return Path(folder.replace("${ORIGIN}", str(home.parent))) if folder else None
