"""Content digests of many batches of one form, in half the time that each takes alone.

A batch of small records is made in a tenth of a millisecond, and there walking through its
tree, and cutting it into rows, would be felt. So the form is looked at once. Each batch is
copied, leaf by leaf, into one buffer whose rows hold the samples' bytes as `content`
digests them, and the rows are hashed where they lie.
"""

from __future__ import annotations

import itertools
from typing import Any, Self

import numpy as np
import xxhash
from numpy.typing import NDArray

from detloader.manifest.content import batch_digests, schema_seed
from detloader.manifest.rounding import Rounding

__all__ = ["BatchDigester"]

_WIDEST_ROW = 4096
"""Bytes of a sample up to which the copy costs less than it saves."""

_NUMBERS = frozenset("?bBhHiIqQefdFD")
"""Codes of NumPy's types of numbers whose every byte has a meaning."""


class BatchDigester:
    """Gives what `batch_digests` gives; one thread at a time may use it."""

    def __init__(self, rounding: Rounding | None = None) -> None:
        """Say what is done to floats before; None for nothing."""
        self._rounding = rounding
        self._rows: _PackedRows | None = None

    def __call__(self, batch: Any) -> NDArray[np.uint64]:
        """Return the digest of each row: uint64, shape (rows,).

        Raises:
            UndigestibleError: see `batch_digests`.
        """
        if self._rounding is not None:
            batch = self._rounding(batch)
        if self._rows is None or not self._rows.fits(batch):
            self._rows = _PackedRows.of(batch)
        return batch_digests(batch) if self._rows is None else self._rows.digest(batch)


class _PackedRows:
    """The buffer of one form of batch: a dict of arrays of numbers."""

    def __init__(self, leaves: dict[str, NDArray[Any]], rows: int) -> None:
        names = sorted(leaves)
        types = [(leaves[name].dtype.newbyteorder("<"), leaves[name].shape[1:]) for name in names]
        row_type = np.dtype(
            [(name, dtype, shape) for name, (dtype, shape) in zip(names, types, strict=True)]
        )
        buffer = np.zeros(rows, row_type)
        self._keys = frozenset(names)
        self._forms = [(name, leaf.dtype, leaf.shape) for name, leaf in leaves.items()]
        self._fields = [(name, buffer[name]) for name in names]
        # Any: NumPy's stubs do not say that an array is a buffer.
        self._rows: list[Any] = list(buffer.view(np.uint8).reshape(rows, row_type.itemsize))
        self._seed = schema_seed(
            tuple(((name,), d.str, shape) for name, (d, shape) in zip(names, types, strict=True))
        )

    @classmethod
    def of(cls, batch: Any) -> Self | None:
        """Return the buffer for batches like this one; None where it is no help."""
        if type(batch) is not dict or not all(map(_is_number_column, batch.values())):
            return None
        lengths = {len(leaf) for leaf in batch.values()}
        width = sum(leaf[:1].nbytes for leaf in batch.values())
        named = all(isinstance(key, str) and key for key in batch)
        if len(lengths) != 1 or 0 in lengths or not named or not 0 < width <= _WIDEST_ROW:
            return None
        return cls(batch, lengths.pop())

    def fits(self, batch: Any) -> bool:
        """Tell whether a batch has this form."""
        if type(batch) is not dict or batch.keys() != self._keys:
            return False
        for name, dtype, shape in self._forms:
            leaf = batch[name]
            if type(leaf) is not np.ndarray or leaf.dtype != dtype or leaf.shape != shape:
                return False
        return True

    def digest(self, batch: dict[str, NDArray[Any]]) -> NDArray[np.uint64]:
        """Return the digest of each row."""
        for name, field in self._fields:
            field[...] = batch[name]
        found = map(xxhash.xxh3_64_intdigest, self._rows, itertools.repeat(self._seed))
        return np.fromiter(found, np.uint64, len(self._rows))


def _is_number_column(leaf: Any) -> bool:
    return type(leaf) is np.ndarray and leaf.ndim > 0 and leaf.dtype.char in _NUMBERS
