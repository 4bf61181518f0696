"""Where the files of a run lie: `RUN/<stream>/rank-00000/…`."""

from __future__ import annotations

import os
import re
from pathlib import Path

from detloader.errors import UsageError

__all__ = [
    "HEADER",
    "JOURNAL",
    "LOCK",
    "ORDER",
    "PART_PATH",
    "RANK_FOLDER",
    "part_path",
    "rank_folder",
    "write_atomically",
]

HEADER = "manifest.json"
JOURNAL = "journal.arrows"
LOCK = "lock"
ORDER = "order"
RANK_FOLDER = re.compile(r"rank-(\d{5,})")
PART_PATH = re.compile(r"order/part-\d{6,}\.parquet")

# A stream's name is a folder's: no separators, no leading dot, nothing that a shell would expand.
_STREAM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:=@+-]*")


def rank_folder(run: str | os.PathLike[str], stream: str, rank: int) -> Path:
    """Return the folder of one rank of one stream.

    Raises:
        UsageError: the stream's name cannot be a folder's, or the rank is negative.
    """
    if not _STREAM.fullmatch(stream):
        message = (
            f"stream {stream!r} cannot name a folder: use letters, digits and any of _ . : = @ + -"
        )
        raise UsageError(message)
    if rank < 0:
        message = f"rank {rank} is negative: ranks count from 0"
        raise UsageError(message)
    return Path(run) / stream / f"rank-{rank:05d}"


def part_path(number: int) -> str:
    """Return the path, below the rank's folder, of the sealed part with this number."""
    return f"{ORDER}/part-{number:06d}.parquet"


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole, even after a power cut, or not at all."""
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
