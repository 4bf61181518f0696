"""Folders of ranks, on this machine or in a remote store: which of the two an address tells."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from detloader.manifest.layout import RANK, is_remote, rank_place
from detloader.manifest.local import LocalFolder

if TYPE_CHECKING:
    from detloader.manifest.remote import RemoteFolder

__all__ = ["Folder", "find_ranks", "folder_of"]

Folder: TypeAlias = "LocalFolder | RemoteFolder"


def folder_of(run: str | os.PathLike[str], stream: str, rank: int) -> Folder:
    """Return the folder of one rank of one stream.

    Raises:
        UsageError: the stream's name cannot be a folder's, or the rank is no whole number
            from 0 on.
    """
    stream, name = rank_place(stream, rank)
    if is_remote(run):
        from detloader.manifest.remote import RemoteFolder

        return RemoteFolder(os.fspath(run), stream, name)
    # The program may change its folder while it is recorded.
    return LocalFolder(Path(run).absolute() / stream / name)


def find_ranks(run: str | os.PathLike[str]) -> Iterator[Folder]:
    """Yield the folders of a run that are a rank's by their names."""
    if is_remote(run):
        from detloader.manifest.remote import find_remote_ranks

        yield from find_remote_ranks(os.fspath(run))
        return
    for folder in Path(run).glob(f"*/{RANK}*"):
        if folder.is_dir():
            yield LocalFolder(folder)
