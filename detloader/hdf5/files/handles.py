"""The files that a loader holds open, never more than the process may.

All threads share them: HDF5 lets one thread in at a time anyway, and datasets that lie in
their file as in memory are read without it. A file that was used longest ago makes room
for the next one; it is closed as soon as no thread reads from it any more.
"""

from __future__ import annotations

import os
import resource
import threading
import weakref
from collections.abc import Sequence
from typing import Any

from detloader.errors import FileError
from detloader.hdf5.files.discovery import SourceFile
from detloader.hdf5.files.opening import OpenDataset
from detloader.hdf5.files.turns import Turn
from detloader.hdf5.files.watching import FileState

__all__ = ["Handles"]

_SHARE = 4
"""A loader takes at most one in so many of the process's descriptors."""

_BATCHES = 16
"""Batches that are made at a time, at most, as threads wait for storage."""

_KEPT = ("_files", "_key", "_capacity", "_states")
"""What is pickled."""

_all: weakref.WeakSet[Handles] = weakref.WeakSet()


class Handles:
    """Opens files by number, and keeps those open that were used last.

    It may be pickled, without what is open. After a fork the child opens its own. A file
    that is opened again must be as it was the first time.

    Attributes:
        turn: for threads to make batches in turn.
    """

    def __init__(self, files: Sequence[SourceFile], key: str, capacity: int) -> None:
        """Keep at most `capacity` files open, fewer where the process may open few."""
        self._files = files
        self._key = key
        self._capacity = capacity
        self._states: list[tuple[FileState, ...]] = [()] * len(files)
        self._reset()

    def open(self, number: int) -> OpenDataset:
        """Return the open dataset of a file.

        Raises:
            FileError: see `OpenDataset`; or it was changed since it was first opened.
        """
        with self._lock:
            found = self._open.pop(number, None)
            if found is None:
                found = self._opened(number)
            # Last in the dict: used last.
            self._open[number] = found
            if len(self._open) > self._limit:
                del self._open[next(iter(self._open))]
        return found

    @property
    def most_at_once(self) -> int:
        """Return how many files one batch may hold while it is made."""
        return max(self._limit // _BATCHES, 1)

    def close(self) -> None:
        """Close all files; a further `open` opens them again."""
        with self._lock:
            self._open.clear()

    def _opened(self, number: int) -> OpenDataset:
        found = OpenDataset(self._files[number].path, self._key)
        if (known := self._states[number] or found.states) != found.states:
            message = (
                f"{found.path} was changed or replaced by another file since the Dataloader was "
                "made: make a new one"
            )
            raise FileError(message, found.path)
        self._states[number] = known
        return found

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self.turn = Turn()
        self._open: dict[int, OpenDataset] = {}
        self._limit = max(min(self._capacity, _descriptors() // _SHARE), 1)
        _all.add(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in _KEPT}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._reset()


def _descriptors() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft if soft > 0 else 2**16


def _reset_all() -> None:
    for handles in list(_all):
        handles._reset()  # noqa: SLF001 - of this module


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_all)
