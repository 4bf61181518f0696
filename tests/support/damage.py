"""Damage done to the files of a run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import rfc8785

from detloader.manifest.canonical import decode_header, encode_header
from detloader.manifest.schema import FileEntry, Header

__all__ = ["change_header", "flipped_bits", "refit", "resign"]


def flipped_bits(path: Path, step: int = 1) -> Iterator[int]:
    """Flip one bit of a file after the other, every `step`-th; the file is whole at the end."""
    whole = path.read_bytes()
    for at in range(0, 8 * len(whole), step):
        flipped = bytearray(whole)
        flipped[at // 8] ^= 1 << at % 8
        path.write_bytes(flipped)
        yield at
    path.write_bytes(whole)


def change_header(path: Path, **changed: object) -> Header:
    """Write a header anew, some of its fields other than they were, its own digest right."""
    header = msgspec.structs.replace(decode_header(path.read_bytes(), str(path)), **changed)
    path.write_bytes(encode_header(header))
    return header


def resign(path: Path, fields: dict[str, Any]) -> None:
    """Write a header of any fields, its own digest right."""
    body = rfc8785.dumps({name: value for name, value in fields.items() if name != "sha256"})
    digest = hashlib.sha256(body).hexdigest()
    path.write_bytes(rfc8785.dumps({**fields, "sha256": digest}))


def refit(path: Path, part: bytes, rows: int) -> None:
    """Give a rank another part, and let its header list that part as its own."""
    name = "order/part-000000.parquet"
    (path.parent / name).write_bytes(part)
    digest = hashlib.sha256(part).hexdigest()
    entry = FileEntry(path=name, size=len(part), rows=rows, sha256=digest)
    change_header(path, files=[entry])
