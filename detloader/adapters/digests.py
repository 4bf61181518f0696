"""Digests of many elements as one column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["digest_column"]


def digest_column(
    digests: Sequence[bytes | NDArray[np.uint64] | None], rows: Sequence[int] | NDArray[np.int64]
) -> pa.Array[Any]:
    """Return the digests of all elements' rows; null where an element's are not known.

    Args:
        digests: those of each element, uint64 or its bytes; None, or nothing, where unknown.
        rows: how many rows each element has.
    """
    parts = [_as_bytes(digest) for digest in digests]
    known = np.repeat([len(part) > 0 for part in parts], rows)
    values = np.zeros(len(known), np.uint64)
    values[known] = np.frombuffer(b"".join(parts), np.uint64)
    return pa.array(values, mask=~known)


def _as_bytes(digest: bytes | NDArray[np.uint64] | None) -> bytes:
    if digest is None:
        return b""
    return digest if isinstance(digest, bytes) else digest.tobytes()
