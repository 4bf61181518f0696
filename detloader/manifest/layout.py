"""Where the files of a run lie: `RUN/<stream>/rank-00000/…`."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from detloader.errors import UsageError

__all__ = [
    "HEADER",
    "JOURNAL",
    "LOCK",
    "ORDER",
    "PART_PATH",
    "part_path",
    "rank_folder",
    "rank_name",
    "write_atomically",
]

HEADER = "manifest.json"
JOURNAL = "journal.arrows"
LOCK = "lock"
ORDER = "order"
PART_PATH = re.compile(r"order/part-[0-9]{6,}\.parquet")

# A stream's name is a folder's: no separators, no dot at either end, nothing that a shell
# would expand, and none of the names that Windows keeps for devices. The colon is for names
# of the form `train.py:41`; on Windows, where runs are read but not recorded, copies of such
# a run need another name.
_STREAM = re.compile(
    r"(?!(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$))(?!.*\.$)[a-z0-9_][a-z0-9_.:=@+-]{0,99}",
    re.ASCII | re.IGNORECASE,
)


def rank_folder(run: str | os.PathLike[str], stream: str, rank: int) -> Path:
    """Return the folder of one rank of one stream.

    Raises:
        UsageError: the stream's name cannot be a folder's, or the rank is negative.
    """
    if not _STREAM.fullmatch(stream):
        message = (
            f"stream {stream!r} cannot name a folder: "
            "use up to 100 letters, digits and any of _ . : = @ + -"
        )
        raise UsageError(message)
    if rank < 0:
        message = f"rank {rank} is negative: ranks count from 0"
        raise UsageError(message)
    return Path(run) / stream / rank_name(rank)


def rank_name(rank: int) -> str:
    """Return the name of a rank's folder."""
    return f"rank-{rank:05d}"


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
    if sys.platform == "win32":
        return  # which opens no folder, and keeps its names in a log of its own
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
