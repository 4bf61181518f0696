"""Fingerprints: what makes two runs equal.

A column's digest is the SHA-256 over the digests of its blocks. The fingerprint is the
SHA-256 over the canonical JSON of the sorted list of
[stream, rank, column, type, column digest], for the compared columns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import cast

from detloader.findings import JsonValue
from detloader.manifest.canonical import canonical_bytes
from detloader.manifest.schema import Column, ColumnType, Header, is_compared

__all__ = ["fingerprint", "make_column"]


def make_column(name: str, type_: ColumnType, blocks: list[str]) -> Column:
    """Return the header's entry for a column whose block digests are known."""
    digest = hashlib.sha256(b"".join(map(bytes.fromhex, blocks))).hexdigest()
    return Column(name=name, type=type_, compared=is_compared(name), blocks=blocks, digest=digest)


def fingerprint(headers: Iterable[Header]) -> str:
    """Return the fingerprint, in hex, of the ranks that these headers describe."""
    entries = sorted(
        (header.stream, header.rank, column.name, column.type, column.digest)
        for header in headers
        for column in header.columns
        if column.compared
    )
    listed = cast("JsonValue", [list(entry) for entry in entries])
    return hashlib.sha256(canonical_bytes(listed)).hexdigest()
