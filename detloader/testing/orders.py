"""Frozen orders: a file for each name, in a folder of the test's module, beside it."""

from __future__ import annotations

import contextlib
import hashlib
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from filelock import FileLock

from detloader.errors import UsageError

__all__ = ["Orders", "Update", "folder_of", "orders_of"]

FOLDER = "frozen"
"""Name of the folder beside the tests; it has one for each of their modules."""

SUFFIX = ".json"


class Update(StrEnum):
    """Which frozen orders are written."""

    NONE = "none"
    NEW = "new"
    ALL = "all"


def _unused(_path: Path) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """The frozen orders of one module of tests.

    Attributes:
        folder: where they lie.
        update: which of them are written.
        since: when the tests began, in seconds since the epoch: what was written later, by
            whichever process, is compared with, and not written again.
        uses: is told each file that a test uses.
    """

    folder: Path = Path(FOLDER)
    update: Update = Update.NONE
    since: float = 0.0
    uses: Callable[[Path], None] = _unused

    def path(self, name: str) -> Path:
        """Return the file of a name.

        Raises:
            UsageError: no file can be called so everywhere.
        """
        if not re.fullmatch(r"\w[\w.,=+-]*", name, re.ASCII):
            raise UsageError(f"{name!r} cannot name a file: take letters, digits and any of _.,=+-")
        path = self.folder / f"{name}{SUFFIX}"
        self.uses(path)
        return path

    @contextlib.contextmanager
    def locked(self, path: Path) -> Iterator[bool]:
        """Tell whether a frozen order is to be written; no other process writes it meanwhile."""
        if self.update is Update.NONE:
            yield False
            return
        # Elsewhere, or it would be committed.
        name = hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:32]
        with FileLock(Path(tempfile.gettempdir(), f"detloader-{name}.lock")):
            is_old = path.exists() and path.stat().st_mtime < self.since
            yield not path.exists() or (self.update is Update.ALL and is_old)


def folder_of(module: Path) -> Path:
    """Return where the frozen orders of a module of tests lie."""
    return module.parent / FOLDER / module.stem


def orders_of(module: Path) -> Iterator[Path]:
    """Yield the frozen orders of a module of tests."""
    return folder_of(module).glob(f"*{SUFFIX}")
