"""Integrity: every byte, every digest, no gap."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from detloader.errors import DamageError
from detloader.manifest.digests import block_digests
from detloader.manifest.fingerprints import fingerprint, make_column
from detloader.manifest.layout import HEADER
from detloader.manifest.parts import read_part
from detloader.manifest.reader import Rank, Run, open_run
from detloader.manifest.schema import Header

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
    for stream in opened.streams.values():
        for rank in stream.ranks:
            _verify_rank(rank)
    return opened


def _verify_rank(rank: Rank) -> None:
    header, where = rank.header, rank.folder / HEADER
    for column in header.columns:
        if make_column(column.name, column.type, column.blocks) != column:
            message = f"{where} is damaged: the digest of column {column.name!r} does not fit"
            raise DamageError(message)
    if header.state == "complete" and fingerprint([header]) != header.fingerprint:
        message = f"{where} is damaged: its fingerprint does not fit its columns"
        raise DamageError(message)
    if header.files and sum(file.rows for file in header.files) != header.seen.rows:
        message = f"{where} is damaged: its parts do not add up to {header.seen.rows} rows"
        raise DamageError(message)
    _verify_parts(rank.folder, header)


def _verify_parts(folder: Path, header: Header) -> None:
    first_block = 0
    for file in header.files:
        path = folder / file.path
        if hashlib.sha256(path.read_bytes()).hexdigest() != file.sha256:
            message = f"{path} is damaged: its SHA-256 does not fit; restore it from a copy"
            raise DamageError(message)
        rows = read_part(path, file.rows)
        count = 0
        for column in header.columns:
            if column.name not in rows.column_names:
                continue
            found = list(block_digests(rows[column.name]))
            count = len(found)
            if found != column.blocks[first_block : first_block + count]:
                message = f"{path} is damaged: column {column.name!r} has other values"
                raise DamageError(message)
        first_block += count
