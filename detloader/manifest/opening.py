"""From a run's path to the headers of its ranks, and what can be told without reading a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from detloader.errors import DamageError, RunError
from detloader.manifest.canonical import MOST_BYTES, decode_header
from detloader.manifest.consistency import check_consistency
from detloader.manifest.layout import HEADER, JOURNAL, PART_PATH, rank_name
from detloader.manifest.unlisted import with_unlisted

if TYPE_CHECKING:
    from detloader.manifest.folders import Folder
    from detloader.manifest.schema import FileEntry, Header

__all__ = ["open_rank"]


def open_rank(folder: Folder) -> tuple[Header, Folder]:
    """Read the header of a rank, and the journal where it is open: they fit to each other.

    The header that is given lists every sealed part.

    Raises:
        DamageError: header, sizes or names of files show that the rank was damaged.
        RunError: a file cannot be read.
    """
    while True:
        data = _header_bytes(folder)
        header = decode_header(data, f"{folder}/{HEADER}")
        # Its recorder may have sealed a part, and begun another journal, in between.
        if header.state == "complete" or (folder.journal, _header_bytes(folder))[1] == data:
            break
        folder = folder.anew()
    if header.state == "open" and folder.journal and folder.journal.unlisted:
        header = with_unlisted(header, folder.journal.unlisted, folder.journal.first_row)
    _check_place(folder, header)
    _check_files(folder, header)
    check_consistency(header, f"{folder}/{HEADER}")
    return header, folder


def _header_bytes(folder: Folder) -> bytes:
    try:
        return folder.read(HEADER, MOST_BYTES)
    except FileNotFoundError as error:
        message = f"{folder} is half-written: {HEADER} is missing; record or copy the run again"
        raise DamageError(message) from error
    except OSError as error:
        message = f"{folder}/{HEADER} cannot be read: {error.strerror}; check its permissions"
        raise RunError(message) from error


def _check_place(folder: Folder, header: Header) -> None:
    if (header.stream, rank_name(header.rank)) != (folder.stream, folder.name):
        message = (
            f"{folder} is not where it was recorded: its header says stream {header.stream!r}, "
            f"rank {header.rank}; move it back"
        )
        raise DamageError(message)


def _check_files(folder: Folder, header: Header) -> None:
    sizes = folder.sizes()
    if not sizes.keys() >= {entry.path for entry in header.files}:
        sizes = folder.anew().sizes()  # a store's list may be older than the header
    for entry in header.files:
        _check_file(folder, sizes, entry)
    if header.state == "open":
        # A part that was being sealed, its journal and the lock belong to an open run.
        _check_unlisted(folder, header, sizes)
        return
    for name in sizes.keys() - {HEADER, *(entry.path for entry in header.files)}:
        message = f"{folder}/{name} is no part of the run, whose manifest does not list it: move it"
        raise DamageError(message)


def _check_unlisted(folder: Folder, header: Header, sizes: Mapping[str, int]) -> None:
    """Make sure that of sealed parts no more is unknown than the one that was being sealed."""
    unknown = {name for name in sizes if PART_PATH.fullmatch(name)}
    unknown -= {entry.path for entry in header.files}
    if len(unknown) > 1 and folder.journal is None:
        message = (
            f"{folder} is damaged: it has {len(unknown)} parts that nothing lists, and no "
            f"{JOURNAL} that can be read; restore it from a copy"
        )
        raise DamageError(message)


def _check_file(folder: Folder, sizes: Mapping[str, int], entry: FileEntry) -> None:
    path = f"{folder}/{entry.path}"
    if not PART_PATH.fullmatch(entry.path):
        message = (
            f"{folder}/{HEADER} is damaged: it lists a file {entry.path!r}; restore it from a copy"
        )
        raise DamageError(message)
    if entry.path not in sizes:
        message = f"{path} is missing: restore it from a copy"
        raise DamageError(message)
    if sizes[entry.path] != entry.size:
        message = (
            f"{path} is damaged: {sizes[entry.path]} bytes, not {entry.size}; "
            "restore it from a copy"
        )
        raise DamageError(message)
