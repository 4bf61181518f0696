"""File order: a file system lists a folder in any order, and another one in another.

Names that Python lists come shuffled: those of `os.listdir`, `os.scandir`, and of what is
made of them, which is `os.walk`, `glob` and `pathlib`. Code below Python lists as before.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import Any, Self

from detloader.audits.replay.expectations import Asks
from detloader.audits.rule import Stage

__all__ = ["ASKS", "STAGE", "VALUES", "enter"]

STAGE = Stage.SOURCE_ORDER
ASKS = Asks.SAME_ROWS
VALUES = (1, 2)


def enter(value: object) -> None:
    """Shuffle what Python lists; the value chooses the order, the same in every process."""
    list_names, scan = os.listdir, os.scandir

    def place(name: str | bytes) -> bytes:
        return hashlib.sha256(f"{value}:".encode() + os.fsencode(name)).digest()

    def listdir(path: Any = ".") -> list[Any]:
        return sorted(list_names(path), key=place)

    def scandir(path: Any = ".") -> _Entries:
        with scan(path) as entries:
            return _Entries(sorted(entries, key=lambda entry: place(entry.name)))

    os.listdir = listdir
    os.scandir = scandir  # type: ignore[assignment]


class _Entries:
    """What `os.scandir` returns: an iterator that can be closed."""

    def __init__(self, entries: list[os.DirEntry[Any]]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[os.DirEntry[Any]]:
        return self

    def __next__(self) -> os.DirEntry[Any]:
        return next(self._entries)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Deliver no more."""
        self._entries = iter(())
