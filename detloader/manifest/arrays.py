"""Columns of numbers as NumPy arrays and back, over the same memory.

Arrow's own conversions import pandas wherever it is installed, which costs an audit more
time than the audit itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["from_numpy", "numpy_type", "to_numpy"]


def numpy_type(arrow: pa.DataType) -> np.dtype[Any]:
    """Return the NumPy type of int64, uint64, float64 or bool."""
    return np.dtype(str(arrow).replace("double", "float64"))


def to_numpy(array: pa.Array[Any]) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return the values of a column, and where it is null.

    Args:
        array: of type int64, uint64, float64 or bool.

    Returns:
        The values, shape (rows,), zero where the column is null; and the nulls, shape
        (rows,), bool, or None where there are none. The values may not be writable.
    """
    start, count = array.offset, len(array)
    validity, data = array.buffers()
    if data is None:
        values = np.zeros(count, numpy_type(array.type))
    elif array.type == pa.bool_():
        values = _bits(data, start, count)
    else:
        values = np.frombuffer(memoryview(data), numpy_type(array.type))[start : start + count]
    if validity is None or not array.null_count:
        return values, None
    nulls = ~_bits(validity, start, count)
    return np.where(nulls, np.zeros(1, values.dtype), values), nulls


def from_numpy(values: NDArray[Any]) -> pa.Array[Any]:
    """Return a column of numbers, none of them null."""
    data = pa.py_buffer(np.ascontiguousarray(values).data)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, data])


def _bits(buffer: pa.Buffer, start: int, count: int) -> NDArray[np.bool_]:
    first, inside = divmod(start, 8)
    packed = np.frombuffer(memoryview(buffer), np.uint8)[first : -(-(start + count) // 8)]
    return np.unpackbits(packed, bitorder="little")[inside : inside + count].astype(bool)
