"""Sealed parts that the header does not list yet: the journal that was begun after them does.

A header lists all parts of a run, and those of a billion rows are four thousand. Written anew
with each of them, it would cost more than the rows in the end. So while a run is open it is
written with every 64th part, and the journal, which is begun anew with each, has the others.
"""

from __future__ import annotations

import hashlib

import msgspec

from detloader.errors import DamageError
from detloader.manifest.fingerprints import make_column
from detloader.manifest.schema import ColumnType, FileEntry, Header, Seen

__all__ = ["Blocks", "Unlisted", "decode_unlisted", "encode_unlisted", "with_unlisted"]


class Blocks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A column of these parts: its name, its type, and the digests of its blocks."""

    name: str
    type: ColumnType
    blocks: list[str]


class Unlisted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parts that follow those of the header.

    Attributes:
        first_row: row of the rank at which the first of them begins.
        files: the parts; none at level `digest`, which keeps no rows.
        columns: what was digested of their rows.
        epochs: distinct epochs of all rows up to their end.
    """

    first_row: int
    files: list[FileEntry]
    columns: list[Blocks]
    epochs: int


def encode_unlisted(parts: Unlisted) -> dict[bytes, bytes]:
    """Return what the schema of a journal carries."""
    data = msgspec.json.encode(parts)
    return {b"parts": data, b"parts_sha256": hashlib.sha256(data).hexdigest().encode()}


def decode_unlisted(carried: dict[bytes, bytes], where: str) -> Unlisted | None:
    """Read what `encode_unlisted` gave; None where there is nothing of it.

    Raises:
        DamageError: it is not what was written.
    """
    data = carried.get(b"parts")
    if data is None:
        return None
    try:
        parts = msgspec.json.decode(data, type=Unlisted)
    except (msgspec.DecodeError, RecursionError):
        parts = None
    if parts is None or not encode_unlisted(parts).items() <= carried.items():
        message = f"{where} is damaged: its list of parts is another one; restore it from a copy"
        raise DamageError(message)
    return parts


def with_unlisted(header: Header, parts: Unlisted, end: int) -> Header:
    """Return a header that lists these parts, too; it may list them already.

    Args:
        header: of an open run.
        parts: what its journal lists.
        end: the row at which the journal begins: the end of these parts.
    """
    if header.seen.rows >= end:
        return header  # which was written after the journal was begun
    listed = {column.name: column.blocks for column in header.columns}
    columns = [
        make_column(column.name, column.type, [*listed.get(column.name, []), *column.blocks])
        for column in parts.columns
    ]
    seen = Seen(
        rows=end,
        epochs=parts.epochs,
        seeds=header.seen.seeds,
        lost=header.seen.lost,
    )
    return msgspec.structs.replace(
        header, columns=columns, files=[*header.files, *parts.files], seen=seen
    )
