"""A rank's folder, taken for one writer and given back.

"Exists" and "already recording" are asked for each rank's folder: the header says the
first, a lock the second.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import filelock

from detloader.errors import RunError, RunExistsError
from detloader.manifest.folder_lock import FolderLock
from detloader.manifest.layout import HEADER, JOURNAL, LOCK, ORDER

__all__ = ["Claim"]

# What a process leaves that died before its header was there.
_BEGINNINGS = {LOCK, f"{HEADER}.tmp"}


class Claim:
    """The claim of one process to the folder of one rank."""

    def __init__(self, folder: Path) -> None:
        """Claim nothing yet."""
        self._folder = folder
        self._lock = FolderLock(folder / LOCK)
        self._made: list[Path] = []

    @contextlib.contextmanager
    def beginning(self) -> Iterator[None]:
        """Make the folder and hold it from here on; an error in the block leaves all as it was.

        Ranks and streams of a run begin one after the other, for the first makes its ID.

        Raises:
            RunExistsError: the folder holds something, or another process holds it.
            RunError: the folder cannot be written.
        """
        folders = (self._folder, *self._folder.parents)
        self._made = [folder for folder in folders if not folder.exists()]
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with _alone_in(self._folder.parents[1]):
                self._take()
                try:
                    yield
                except BaseException:
                    self.remove()
                    raise
        except RunExistsError:
            raise
        except OSError as error:
            self._remove_made()
            what = error.strerror or error
            message = f"{self._folder} cannot be written: {what}; choose another folder"
            raise RunError(message) from error

    def release(self) -> None:
        """Let go of the folder; the lock's file goes too."""
        self._lock.release()
        (self._folder / LOCK).unlink(missing_ok=True)

    def remove(self) -> None:
        """Let go, and remove all that a rank writes and the folders that were made for it."""
        self.release()
        shutil.rmtree(self._folder / ORDER, ignore_errors=True)
        for name in (JOURNAL, HEADER):
            (self._folder / name).unlink(missing_ok=True)
        self._remove_made()

    def _take(self) -> None:
        found = {path.name for path in self._folder.iterdir()}
        taken = not found <= _BEGINNINGS
        if taken and LOCK not in found:
            message = f"{self._folder} holds a run already: choose another folder, or remove it"
            raise RunExistsError(message)
        try:
            self._lock.acquire()
        except filelock.Timeout as error:
            message = f"{self._folder} is being recorded already: choose another folder"
            raise RunExistsError(message) from error
        if taken:
            self._lock.release()
            message = (
                f"{self._folder} holds a run that was cut off: choose another folder, or remove it"
            )
            raise RunExistsError(message)

    def _remove_made(self) -> None:
        for folder in self._made:
            # It is not empty where another rank or stream lies in it.
            with contextlib.suppress(OSError):
                folder.rmdir()


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Keep other beginners out of a run's folder.

    The lock lies on the folder itself and leaves no file. Where there is none (on Windows,
    on some network file systems) ranks that begin together need an ID from their launcher.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
