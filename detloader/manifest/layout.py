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
    "MOST_OF_NAME",
    "ORDER",
    "PART_PATH",
    "RANK",
    "SIGNATURE",
    "check_address",
    "check_stream",
    "is_remote",
    "numbered_stream",
    "part_path",
    "rank_name",
    "rank_place",
    "sync",
    "whole_address",
    "write_atomically",
]

HEADER = "manifest.json"
JOURNAL = "journal.arrows"
LOCK = "lock"
ORDER = "order"
RANK = "rank-"
SIGNATURE = "signature.json"
PART_PATH = re.compile(r"order/part-[0-9]{6,}\.parquet")

MOST_OF_NAME = 100
"""Characters of a loader's name."""

MOST_OF_FOLDER = 200
"""Characters of a stream's: that of its loader, and which one, child and attempt it is."""

# A stream's name is a folder's: no separators, no dot at either end, nothing that a shell
# would expand, and none of the names that Windows keeps for devices. The colon is for names
# of the form `train.py:41`; on Windows, where runs are read but not recorded, copies of such
# a run need another name.
_STREAM = re.compile(
    r"(?!(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$))(?!.*\.$)[a-z0-9_][a-z0-9_.:=@+-]*",
    re.ASCII | re.IGNORECASE,
)


def is_remote(run: str | os.PathLike[str]) -> bool:
    """Tell whether a run's address is one of a store, such as `s3://bucket/runs/a`."""
    return "://" in os.fspath(run)


def check_address(run: object) -> None:
    """Refuse what names no folder.

    Raises:
        UsageError: it is empty, no text, or has a null character, as no name does.
    """
    address = os.fspath(run) if isinstance(run, os.PathLike) else run
    if not isinstance(address, str) or not address or "\0" in address:
        raise UsageError(f"a run is the name of a folder, not {run!r}")


def whole_address(run: str | os.PathLike[str]) -> str:
    """Return a run's address, whatever the working folder will be."""
    return os.fspath(run) if is_remote(run) else str(Path(run).absolute())


def numbered_stream(name: str, number: int) -> str:
    """Name a stream by its number among those of one name, as "main" and "main-2"."""
    return name if number == 1 else f"{name}-{number}"


def check_stream(stream: str, most: int = MOST_OF_FOLDER) -> None:
    """Refuse a name that no stream can have.

    Args:
        stream: the name.
        most: how many characters it may have.

    Raises:
        UsageError: it cannot be a folder's.
    """
    if not isinstance(stream, str):
        raise UsageError(f"{stream!r} names no stream; give text")
    if len(stream) > most or not _STREAM.fullmatch(stream):
        message = (
            f"stream {stream!r} cannot name a folder: "
            f"use up to {most} letters, digits and any of _ . : = @ + -"
        )
        raise UsageError(message)


def rank_place(stream: str, rank: int) -> tuple[str, str]:
    """Return the names of the folders of a stream, and of a rank in it.

    Raises:
        UsageError: the stream's name cannot be a folder's, or the rank is no whole number
            from 0 on.
    """
    check_stream(stream)
    if isinstance(rank, bool) or not isinstance(rank, int):
        message = f"rank is a whole number or left out, not {rank!r}"
        raise UsageError(message)
    if rank < 0:
        message = f"rank {rank} is negative: ranks count from 0"
        raise UsageError(message)
    return stream, rank_name(rank)


def rank_name(rank: int) -> str:
    """Return the name of a rank's folder."""
    return f"{RANK}{rank:05d}"


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
    sync(path.parent)


def sync(path: Path) -> None:
    """See to it that what a file or a folder holds survives a power cut."""
    if sys.platform == "win32":
        return  # which opens no folder, and keeps its names in a log of its own
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
