"""Digests of many elements as one column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from detloader.manifest.rounding import digest_values, split_digests
from detloader.manifest.strong import STRONG

__all__ = ["digest_column", "digest_ids"]


def digest_column(
    digests: Sequence[bytes | NDArray[Any] | None], rows: Sequence[int] | NDArray[np.int64]
) -> pa.Array[Any]:
    """Return the digests of all elements' rows; null where an element's are not known.

    Args:
        digests: those of each element, as a `Digester` gives them, or their bytes; None, or
            nothing, where unknown.
        rows: how many rows each element has.

    Returns:
        uint64, or text where the digests are SHA-256; uint64 where none is known.
    """
    parts = [_as_bytes(digest) for digest in digests]
    known = np.repeat([len(part) > 0 for part in parts], rows)
    found = split_digests(b"".join(parts), int(known.sum()))
    values = np.zeros(len(known), found.dtype)
    values[known] = found
    return pa.array(values if found.dtype != STRONG else digest_values(values), mask=~known)


def digest_ids(digests: NDArray[Any]) -> list[str]:
    """Return digests as the IDs that they stand for, in hex."""
    if digests.dtype == STRONG:
        return [str(digest) for digest in digest_values(digests)]
    return [f"{digest:016x}" for digest in digests.tolist()]


def _as_bytes(digest: bytes | NDArray[Any] | None) -> bytes:
    if digest is None:
        return b""
    return digest if isinstance(digest, bytes) else digest.tobytes()
