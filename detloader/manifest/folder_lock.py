"""The locks that a process holds on folders: one descriptor for all of them.

A lock is a file in the folder. The files of one process are links to a single one, which it
keeps open and locked: whoever tries any of them finds it held, and when the process ends,
however it does, all are free.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

import filelock

__all__ = ["FolderLock"]


class FolderLock:
    """The lock of one folder; nobody has it yet."""

    def __init__(self, path: Path) -> None:
        """Name its file."""
        self._path = path
        self._file: _File | None = None

    def acquire(self) -> None:
        """Take the lock.

        Raises:
            Timeout: somebody has it.
            OSError: the file cannot be written.
        """
        with _changing:
            file = next((file for file in _files if file.spread(self._path)), None)
            if file is None:
                file = _File(self._path)
                _files.append(file)
            self._file = file

    def release(self) -> None:
        """Let go of it; its file stays."""
        with _changing:
            file, self._file = self._file, None
            if file is not None and file.leave(self._path) and file in _files:
                _files.remove(file)


class _File:
    """A file that is open and locked, and the paths that it has."""

    def __init__(self, path: Path) -> None:
        # A lock of this object, not of the thread that happens to make it.
        self._lock = filelock.FileLock(path, thread_local=False)
        self._lock.acquire(blocking=False)
        found = path.stat()
        self._identity = found.st_dev, found.st_ino
        self._paths = {path: None}

    def spread(self, path: Path) -> bool:
        """Give the file one more path; tell whether that was possible."""
        if os.name != "posix":
            return False  # elsewhere what is open keeps all of its paths
        known = next(iter(self._paths))
        # It was removed, lies on another disk, or has as many paths as a file may have.
        with contextlib.suppress(OSError):
            path.hardlink_to(known)
            found = path.stat()
            if (found.st_dev, found.st_ino) == self._identity:
                self._paths[path] = None
                return True
            path.unlink()  # another process has put a file of its own there
        return False

    def leave(self, path: Path) -> bool:
        """Take a path away; tell whether it was the last one, so that nobody holds the file."""
        self._paths.pop(path, None)
        if self._paths:
            return False
        self._lock.release()
        return True


_files: list[_File] = []
_of_parent: list[_File] = []
_changing = threading.RLock()


def _begin_anew() -> None:
    """Leave all locks to the parent, in a forked child; what it takes is its own."""
    global _changing  # noqa: PLW0603 - another thread of the parent may have held it
    _changing = threading.RLock()
    # Kept, for a lock that is forgotten is released.
    _of_parent.extend(_files)
    _files.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
