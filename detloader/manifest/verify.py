"""Integrity: every byte, every digest, no gap."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from detloader.errors import DamageError
from detloader.manifest.beside import find_strangers
from detloader.manifest.digests import block_digests
from detloader.manifest.parts import read_part
from detloader.manifest.reader import Run, open_run
from detloader.manifest.schema import BLOCK_ROWS, Header, is_stored

if TYPE_CHECKING:
    from detloader.manifest.folders import Folder

__all__ = ["verify_run"]


def verify_run(run: Run | str | os.PathLike[str]) -> Run:
    """Read a whole run and prove that it is as it was recorded.

    Of an open run the header and the sealed parts are proved; its journal has no
    digest yet. At level `digest` there are no rows to read.

    Returns:
        The run.

    Raises:
        RunNotFoundError: there is no run in that folder.
        DamageError: a byte, a digest or a count does not fit; the message says which.
    """
    opened = run if isinstance(run, Run) else open_run(run)
    for stranger in find_strangers(opened.path):
        message = f"{opened.path}/{stranger} is no part of the run: move it"
        raise DamageError(message)
    for stream in opened.streams.values():
        if missing := stream.ranks_told - len(stream.ranks):
            message = (
                f"{opened.path} lacks {missing} of the ranks of its stream "
                f"{stream.name!r}: copy their folders, too"
            )
            raise DamageError(message)
        for rank in stream.ranks:
            _verify_parts(rank.folder.anew(), rank.header)
    return opened


def _verify_parts(folder: Folder, header: Header) -> None:
    first_block = 0
    for file in header.files:
        path = f"{folder}/{file.path}"
        rows = read_part(folder, file)
        stored = [column for column in header.columns if is_stored(column.name, header.level)]
        if rows.column_names != [column.name for column in stored]:
            found = ", ".join(rows.column_names)
            message = f"{path} is damaged: its columns are {found}; restore it from a copy"
            raise DamageError(message)
        last_block = first_block + -(-file.rows // BLOCK_ROWS)
        for column in stored:
            if _digests(rows[column.name]) != column.blocks[first_block:last_block]:
                message = (
                    f"{path} is damaged: column {column.name!r} has other values; "
                    "restore it from a copy"
                )
                raise DamageError(message)
        first_block = last_block


def _digests(values: pa.ChunkedArray[Any]) -> list[str] | None:
    """Return the digests of the blocks, None where the values are none of their type."""
    try:
        values.validate(full=True)
        return list(block_digests(values))
    except (pa.ArrowException, TypeError, ValueError):
        return None
