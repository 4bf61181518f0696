"""A file of a run that belongs to no rank: it lies in the run's folder, beside its streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from detloader.errors import DamageError, RunError
from detloader.manifest.layout import RANK, SIGNATURE, is_remote, write_atomically

__all__ = ["find_strangers", "read_beside", "write_beside"]

MOST_BYTES = 2**26
"""Bytes of such a file."""


def read_beside(run: str, name: str) -> bytes | None:
    """Return the bytes of a run's file; None where there is none.

    Raises:
        DamageError: they are more than any such file has.
        RunError: the file cannot be read.
    """
    if is_remote(run):
        from detloader.manifest.remote import read_object

        return read_object(f"{run.rstrip('/')}/{name}", MOST_BYTES)
    return _read(Path(run, name))


def write_beside(run: str, name: str, data: bytes) -> None:
    """Write a file of a run; it is there whole, or as it was.

    Raises:
        RunError: it cannot be written.
    """
    if is_remote(run):
        from detloader.manifest.remote import write_object

        write_object(f"{run.rstrip('/')}/{name}", data)
        return
    path = Path(run, name)
    try:
        write_atomically(path, data)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}") from error


def find_strangers(run: str) -> Iterator[str]:
    """Yield what lies in a run's folder, or in a stream's, and belongs to no run."""
    if is_remote(run):
        from detloader.manifest.remote import list_objects

        names: Iterable[str] = list_objects(run)
    else:
        folder = Path(run)
        entries = [entry for pattern in ("*", "*/*", "*/*/*") for entry in folder.glob(pattern)]
        leaves = [entry for entry in entries if not (entry.is_dir() and any(entry.iterdir()))]
        names = [entry.relative_to(folder).as_posix() for entry in leaves]
    for name in names:
        _, rank, *file = [*name.split("/", 2), ""]
        if name != SIGNATURE and not (rank.startswith(RANK) and file[0]):
            yield name


def _read(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from error
    if len(data) > MOST_BYTES:
        raise DamageError(f"{path} is damaged: it has more bytes than any such file")
    return data
