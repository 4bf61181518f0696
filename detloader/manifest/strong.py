"""Content digests that hold against whoever chooses the samples: SHA-256.

Digested is the length (uint64, little-endian) of the schema's canonical JSON, that JSON, and the
leaves' bytes, as `content` describes them; in a manifest the digest stands in hex.
"""

from __future__ import annotations

import functools
import hashlib
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from detloader.manifest.content import Schema, batch_parts, sample_parts

__all__ = ["STRONG", "strong_batch_digests", "strong_digest", "with_strong_content"]

STRONG = np.dtype("V32")
"""The type of a column of such digests, as bytes."""


def strong_digest(sample: object) -> bytes:
    """Return the digest of one sample, 32 bytes.

    Raises:
        UndigestibleError: a leaf is neither an array, a number, text nor None.
    """
    return _digest(*sample_parts(sample))


def strong_batch_digests(batch: object) -> NDArray[np.void]:
    """Return the digest of each row of a batch: 32 bytes each, shape (rows,).

    Raises:
        UndigestibleError: a leaf has no bytes of its own, or not as many rows as another.
    """
    return np.frombuffer(b"".join([_digest(*parts) for parts in batch_parts(batch)]), STRONG)


def with_strong_content(rows: pa.Table) -> pa.Table:
    """Return rows whose content is text, also where none of these has any."""
    place = rows.schema.get_field_index("content")
    if place < 0 or pa.types.is_string(rows.schema.field(place).type):
        return rows
    return rows.set_column(place, "content", pa.nulls(len(rows), pa.string()))


def _digest(schema: Schema, pieces: list[Any]) -> bytes:
    state = _begun(schema).copy()
    for piece in pieces:
        state.update(piece)
    digest: bytes = state.digest()
    return digest


@functools.lru_cache(256)
def _begun(schema: Schema) -> Any:
    text = msgspec.json.encode(schema)
    return hashlib.sha256(len(text).to_bytes(8, "little") + text)
