"""Which files a loader reads, and in which order.

A file's name is its path relative to the folder that was given, or, where several paths
were, to the folder nearest to them all. It does not change when the data move elsewhere.
"""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from detloader.errors import FileError, MissingFileError, UsageError
from detloader.extras import require
from detloader.hdf5.arguments import Compatibility

__all__ = ["Discovered", "SourceFile", "discover"]

_SUFFIXES = {".hdf5", ".h5"}

_HUB = "hf://"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file.

    Attributes:
        path: absolute.
        name: relative, with slashes.
    """

    path: str
    name: str

    @property
    def label(self) -> str:
        r"""The name as text that has UTF-8, whatever the bytes of the file system are.

        A byte that has none is `\xNN`, a backslash two: no two names have one label.
        """
        escaped = self.name.replace("\\", "\\\\")
        return os.fsencode(escaped).decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class Discovered:
    """The files of a loader in order, and the commits that paths of a hub stand for."""

    files: tuple[SourceFile, ...]
    commits: dict[str, str]


def discover(
    file_paths: Any,
    *,
    revision: str | None,
    sort: bool,
    splits: Any,
    compatibility: Compatibility,
) -> Discovered:
    """Find the files.

    Args:
        file_paths: a folder, file or `hf://` path, or a nested list of them.
        revision: branch, tag or commit of the `hf://` paths.
        sort: by the natural order of their names; else in the order of `file_paths`, each
            folder's in the order of their names' characters.
        splits: for each path, the share of its files to take, the first ones; None for all.
        compatibility: "zea-0.1" sorts by the last number but one of the whole path, and
            what that leaves open as the file system lists it.

    Raises:
        UsageError: there are no paths, or no files in a folder.
        MissingFileError: a path does not exist.
        FileError: a folder cannot be listed.
    """
    given = list(_flatten(file_paths))
    if not given:
        raise UsageError("file_paths names no file: give a folder, a file, or a list of them")
    local, commits = _local(given, revision)
    published = compatibility is not None
    groups: list[list[str]] = []
    for path in local:
        groups.append(list(_expand(path, published=published)))  # noqa: PERF401 - a frame more
    names = _names(local, groups)
    if sort and not published:
        groups = [sorted(group, key=_natural(names)) for group in groups]
    if splits is not None:
        groups = _shares(groups, splits)
    paths = [path for group in groups for path in group]
    if not paths:
        raise UsageError(f"directory_splits {splits!r} leave no file: raise one of them")
    if sort:
        paths = _by_published_number(paths) if published else sorted(paths, key=_natural(names))
    _warn_of_repeats(names[path] for path in paths)
    files = tuple(SourceFile(str(Path(path).absolute()), names[path]) for path in paths)
    return Discovered(files, commits)


def _flatten(paths: Any) -> Iterator[str]:
    if isinstance(paths, list | tuple):
        for path in paths:
            yield from _flatten(path)
        return
    try:
        path = os.fsdecode(paths)
    except TypeError as error:
        raise UsageError(f"file_paths holds {paths!r}: give paths as text or Path") from error
    if not path:
        raise UsageError("file_paths holds an empty path: give '.' for the working directory")
    yield path


def _local(given: Sequence[str], revision: str | None) -> tuple[list[str], dict[str, str]]:
    """Return the local path that each given one stands for, and the commits of a hub."""
    local: list[str] = []
    commits: dict[str, str] = {}
    for path in given:
        if not path.startswith(_HUB):
            local.append(path)
            continue
        from detloader.hdf5.files.hub import fetch_snapshot

        snapshot = fetch_snapshot(path, revision)
        local.append(os.fspath(snapshot.path))
        commits[snapshot.repository] = snapshot.commit
    return local, commits


def _expand(path: str, *, published: bool) -> Iterator[str]:
    found = Path(path)
    try:
        is_folder, is_there = found.is_dir(), found.exists() or found.is_symlink()
    except OSError as error:
        message = f"{path} cannot be looked for: {error.strerror}: correct or drop it"
        raise FileError(message, path) from error
    if is_folder:
        yield from _in_folder(path, published=published)
    elif not is_there:
        raise MissingFileError(f"{path} does not exist: correct or drop it", path)
    elif found.suffix not in _SUFFIXES:
        raise FileError(f"{path} is no HDF5 file by its name: rename it to end in .hdf5", path)
    else:
        yield path


def _in_folder(folder: str, *, published: bool) -> Iterator[str]:
    def fail(error: OSError) -> None:
        where = str(error.filename)
        raise FileError(f"{where} cannot be listed: {error.strerror}", where) from error

    found, links = False, []
    for parent, folders, files in os.walk(folder, onerror=fail):
        links += [str(path) for path in map(Path(parent).joinpath, folders) if path.is_symlink()]
        if not published:
            folders.sort()
            files.sort()
        for file in files:
            if Path(file).suffix in _SUFFIXES:
                found = True
                yield str(Path(parent) / file)
    # As published; and a link may lead back to where it is.
    linked = f"links to folders, as {min(links)}, which are not followed" if links else ""
    if not found:
        but = f" but behind {linked}" if links else ""
        raise UsageError(f"{folder} holds no .hdf5 or .h5 file{but}: give another folder")
    if links:
        warnings.warn(f"{folder} has {linked}: give their paths, too", stacklevel=5)


def _names(local: Sequence[str], groups: Sequence[Sequence[str]]) -> dict[str, str]:
    """Return the name of each path."""
    folders = [path if path.is_dir() else path.parent for path in map(Path, local)]
    root = os.path.commonpath([folder.absolute() for folder in folders])
    return {
        path: Path(os.path.relpath(Path(path).absolute(), root)).as_posix()
        for group in groups
        for path in group
    }


def _natural(names: dict[str, str]) -> Any:
    natsort = require("natsort", extra="hdf5")
    key = natsort.natsort_keygen(alg=natsort.ns.PATH)
    # Names such as f1 and f01 are equal as numbers; their characters decide.
    return lambda path: (key(names[path]), names[path])


def _by_published_number(paths: Sequence[str]) -> list[str]:
    try:
        return sorted(paths, key=lambda path: int(re.findall(r"\d+", path)[-2]))
    except IndexError:
        warnings.warn("a path without a number: files stay unsorted, as published", stacklevel=5)
        return list(paths)


def _shares(groups: Sequence[Sequence[str]], splits: Any) -> list[list[str]]:
    shares: list[Any] = list(splits) if np.iterable(splits) else [splits]
    if len(shares) != len(groups):
        message = f"{len(shares)} directory_splits for {len(groups)} paths: give one for each"
        raise UsageError(message)
    if not all(isinstance(share, Real) and 0 <= float(share) <= 1 for share in shares):
        raise UsageError(f"directory_splits must lie between 0 and 1, not {splits!r}")
    return [
        list(group[: int(share * len(group))]) for group, share in zip(groups, shares, strict=True)
    ]


def _warn_of_repeats(names: Iterable[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        message = f"{repeated[0]} is given more than once, and so are its samples"
        warnings.warn(message, stacklevel=4)
