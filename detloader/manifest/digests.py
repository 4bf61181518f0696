"""Digests of the blocks of a column, byte for byte.

Block k of a column holds rows [65,536 k, 65,536 (k+1)) of the rank. Its bytes:

    type tag     the type's name in ASCII, then one zero byte
    row count    uint64
    null mask    one bit a row, least significant bit first, set where the value is null
    values       int64, uint64, float64: 8 bytes each; bool: 1 byte each;
                 string: a uint64 length for each value, then the UTF-8 text of all
                 (null: zero, or no text)

All numbers are little-endian. A block's digest is the SHA-256 over these bytes; a
column's digest is the SHA-256 over its blocks' digests, 32 bytes each, in order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from detloader.manifest.arrays import to_numpy
from detloader.manifest.schema import BLOCK_ROWS, ColumnType

__all__ = ["arrow_type", "block_digests", "column_type"]

_ARROW_TYPES: dict[ColumnType, pa.DataType] = {
    "int64": pa.int64(),
    "uint64": pa.uint64(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
    "string": pa.string(),
}
_WIRE_TYPES: dict[ColumnType, str] = {
    "int64": "<i8",
    "uint64": "<u8",
    "float64": "<f8",
    "bool": "u1",
}


def arrow_type(column_type: ColumnType) -> pa.DataType:
    """Return the Arrow type of a column type."""
    return _ARROW_TYPES[column_type]


def column_type(arrow: pa.DataType) -> ColumnType | None:
    """Return the column type of an Arrow type, None where a manifest has no such type."""
    return next((name for name, known in _ARROW_TYPES.items() if known == arrow), None)


def block_digests(values: pa.ChunkedArray[Any]) -> Iterator[str]:
    """Yield the digests, in hex, of the blocks of rows that begin on a block's border."""
    for start in range(0, len(values), BLOCK_ROWS):
        block = values.slice(start, BLOCK_ROWS)
        yield hashlib.sha256(b"".join(_block_bytes(block))).hexdigest()


def _block_bytes(block: pa.ChunkedArray[Any]) -> Iterator[bytes | memoryview]:
    # One contiguous array: offsets and masks then start at the block's first row.
    array = block.combine_chunks()
    type_ = column_type(array.type)
    if type_ is None:
        message = f"a manifest holds no column of Arrow type {array.type}"
        raise TypeError(message)
    yield type_.encode() + b"\0"
    yield len(array).to_bytes(8, "little")
    nulls, _ = to_numpy(array.is_null())
    yield np.packbits(nulls, bitorder="little").tobytes()
    if type_ == "string":
        yield from _text_bytes(array, nulls)
        return
    values, _ = to_numpy(array)
    yield values.astype(_WIRE_TYPES[type_], copy=False).tobytes()


def _text_bytes(array: pa.Array[Any], nulls: NDArray[np.bool_]) -> Iterator[bytes | memoryview]:
    # Without the nulls, for under them may lie any text.
    known = array.drop_null() if array.null_count else array
    _, offsets, text = known.buffers()
    lengths = np.zeros(len(array), "<u8")
    if offsets is None or text is None:
        yield lengths.tobytes()
        return
    ends = np.frombuffer(memoryview(offsets), np.int32)[known.offset :][: len(known) + 1]
    lengths[~nulls] = np.diff(ends)
    yield lengths.tobytes()
    yield memoryview(text)[ends[0] : ends[-1]]
