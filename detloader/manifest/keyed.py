"""Record IDs told as keyed digests, so that no ID stands in what is shared.

The digest of an ID is the BLAKE2b of its text, 96 bits in hex, under a key that stays with
whoever recorded the run. Equal IDs have equal digests under one key, in all runs; without the
key nobody can tell whether a digest is that of an ID he knows.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from detloader.errors import UsageError
from detloader.manifest.relative import RECORD_IDS
from detloader.manifest.schema import Declared, is_compared

__all__ = ["IdHash"]

_LEAST_BYTES = 16
_DIGEST_BYTES = 12
"""Two of a billion IDs share a digest of so many bytes once in a hundred billion runs."""

_NO_IDS = frozenset({"index", "label", "label_true", "label_used", "resumed", "seed"})
"""Numbers of columns of these names, and of those of workers, are no IDs."""


class IdHash:
    """A key, and what it makes of IDs.

    Attributes:
        name: a digest of the key, by which runs say that they share it.
    """

    def __init__(self, key: bytes) -> None:
        """Take the key, of 16 bytes or more that nobody can guess."""
        # BLAKE2b takes keys of 64 bytes at most.
        self._key = hashlib.blake2b(key, person=b"detloader ids").digest()
        self.name = hashlib.blake2b(b"", key=self._key, digest_size=8).hexdigest()

    @classmethod
    def of(cls, keyfile: str | os.PathLike[str]) -> IdHash:
        """Read a key; line ends at its end are no part of it.

        Raises:
            UsageError: the file cannot be read, or holds too little to be a key.
        """
        try:
            key = Path(keyfile).read_bytes().rstrip(b"\r\n")
        except (OSError, TypeError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise UsageError(f"the key {keyfile} cannot be read: {why}") from error
        if len(key) < _LEAST_BYTES:
            raise UsageError(
                f"the key {keyfile} has {len(key)} bytes, and whoever tries all of so few finds "
                f"it: make one by `openssl rand -hex 32 > {keyfile}`"
            )
        return cls(key)

    def digest(self, record: int | str) -> str:
        """Return what stands for an ID: 24 hex digits. The number 7 and the text "7" are one ID."""
        text = str(record).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, key=self._key, digest_size=_DIGEST_BYTES).hexdigest()

    def apply(self, rows: pa.Table) -> pa.Table:
        """Return rows without IDs: with digests in every column that may hold one."""
        for place, field in enumerate(rows.schema):
            if _may_hold_ids(field):
                digests = self._digests(rows.column(place))
                rows = rows.set_column(place, field.name, digests)
        return rows

    def _digests(self, values: pa.ChunkedArray[Any]) -> pa.ChunkedArray[Any]:
        coded = values.combine_chunks().dictionary_encode()
        known = [self.digest(value) for value in _present(coded.dictionary)]
        return pa.chunked_array([pa.array(known, pa.string()).take(coded.indices)], pa.string())

    def told(self, declared: Declared) -> Declared:
        """Return what was declared, with digests for the IDs that weights are given by."""
        if not isinstance(declared.weights, Mapping):
            return declared
        weights = {self.digest(record): weight for record, weight in declared.weights.items()}
        return msgspec.structs.replace(declared, weights=weights)


def _present(values: pa.Array[Any]) -> Iterator[int | str]:
    return (value for value in values.to_pylist() if value is not None)


def _may_hold_ids(field: pa.Field[Any]) -> bool:
    """Tell whether a column is one of IDs, or one of which nobody knows what it holds."""
    if field.name in RECORD_IDS:
        return True
    if is_compared(field.name) or not (
        pa.types.is_string(field.type) or pa.types.is_integer(field.type)
    ):
        return False
    is_number = pa.types.is_integer(field.type)
    return not (is_number and (field.name in _NO_IDS or field.name.startswith("worker")))
