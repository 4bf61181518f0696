"""Sees that a file was changed."""

from __future__ import annotations

import os
from typing import NamedTuple

from detloader.errors import FileError, MissingFileError

__all__ = ["FileState", "Watch"]


class FileState(NamedTuple):
    """What tells a file from what it was before.

    Attributes:
        links: 0 where it was removed, else 1.
        inode: the file system's number of it.
        size: bytes.
        modified: nanoseconds; a program can put it back.
        changed: nanoseconds, of data or attributes; no program can put it back.
    """

    links: int
    inode: int
    size: int
    modified: int
    changed: int


_REMOVED = FileState(0, 0, 0, 0, 0)


class Watch:
    """Files, and the state of each when it was added."""

    def __init__(self) -> None:
        self._files: dict[str, int | str] = {}
        self._states: list[FileState] = []

    def add(self, path: str, file: int | str) -> None:
        """Watch a file from now on.

        Args:
            path: its name, for errors.
            file: the system's number of the open file, or its path.
        """
        self._files[path] = file
        self._states.append(_state(file))

    @property
    def states(self) -> tuple[FileState, ...]:
        """The state of each file when it was added."""
        return tuple(self._states)

    def check(self) -> None:
        """Refuse a file that is gone, or was changed since it was added.

        Raises:
            MissingFileError: it was removed or replaced.
            FileError: it was changed.
        """
        for (path, file), known in zip(self._files.items(), self._states, strict=True):
            state = _state(file)
            if state == known:
                continue
            if not state.links:
                message = f"{path} was removed or replaced while it was read: restore it"
                raise MissingFileError(message, path)
            message = f"{path} was changed while it was read: make a new Dataloader"
            raise FileError(message, path)


def _state(file: int | str) -> FileState:
    try:
        found = os.stat(file)  # noqa: PTH116 - of an open file, which a Path cannot be
    except FileNotFoundError:
        return _REMOVED
    return FileState(
        found.st_nlink and 1, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
    )
