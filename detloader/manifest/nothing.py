"""Digests of the blocks of a column that has no value in any row: read off, without NumPy."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator

from detloader.manifest.schema import BLOCK_ROWS, ColumnType

__all__ = ["digests_of_nothing"]


def digests_of_nothing(column_type: ColumnType, rows: int) -> Iterator[str]:
    """Yield what `block_digests` does for so many rows without a value."""
    for start in range(0, rows, BLOCK_ROWS):
        yield _digest(column_type, min(rows - start, BLOCK_ROWS))


@functools.lru_cache
def _digest(column_type: ColumnType, rows: int) -> str:
    mask = ((1 << rows) - 1).to_bytes((rows + 7) // 8, "little")
    values = bytes(rows * (1 if column_type == "bool" else 8))
    head = column_type.encode() + b"\0" + rows.to_bytes(8, "little")
    return hashlib.sha256(head + mask + values).hexdigest()
