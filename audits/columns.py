"""Columns of recorded streams as arrays that two runs can be compared by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from detloader.audits.integers import are_distinct, slices, span
from detloader.manifest.arrays import to_numpy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detloader.findings import JsonValue

__all__ = ["Column", "Flags", "Integers", "are_equal", "as_codes"]

Integers: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Column:
    """Values of one column; strings stand as codes into a vocabulary.

    Attributes:
        values: shape (rows,); int64, uint64, float64 or bool, zero where a value is absent.
        absent: shape (rows,), where a row has no value; None where every row has one.
        vocabulary: the strings that the codes stand for; None for numbers.
        digest: whether the numbers are digests, which reports show as decimal strings.
    """

    values: npt.NDArray[Any]
    absent: Flags | None = None
    vocabulary: pa.Array[Any] | None = None
    digest: bool = False

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.values)

    @cached_property
    def is_distinct(self) -> bool:
        """Tell whether every row has a value, and no value comes twice."""
        return self.absent is None and are_distinct(self.values)

    @cached_property
    def span(self) -> range | None:
        """Give the integers that the values are, from the least on; None where one is left out."""
        return span(self.values)

    def take(self, rows: Integers | Flags | slice) -> Column:
        """Keep these rows, in this order."""
        absent = None if self.absent is None else self.absent[rows]
        return Column(self.values[rows], absent, self.vocabulary, self.digest)

    def equals(self, other: Column) -> Flags:
        """Tell row by row whether two columns of one length and vocabulary agree."""
        same: Flags = self.values == other.values
        if self.absent is None and other.absent is None:
            return same
        agree: Flags = same & (self.missing() == other.missing())
        return agree

    def missing(self) -> Flags:
        """Tell row by row whether there is no value."""
        if self.absent is None:
            return np.zeros(len(self.values), dtype=np.bool_)
        return self.absent

    def show(self, row: int) -> JsonValue:
        """Give one value as reports show it."""
        if self.absent is not None and self.absent[row]:
            return None
        return self.show_value(self.values[row])

    def show_value(self, value: Any) -> JsonValue:
        """Give a value of this column, or a code of its vocabulary, as reports show it."""
        if self.vocabulary is not None:
            text: str = self.vocabulary[int(value)].as_py()
            return text
        if self.digest:
            return str(int(value))
        plain: int | float | bool = value.item()
        return plain


def as_codes(parts: Sequence[pa.ChunkedArray[Any]]) -> list[Column]:
    """Turn columns of several runs into codes of one vocabulary.

    Args:
        parts: the column in each run; numbers are taken as text.

    Returns:
        One `Column` for each part.
    """
    parts = [part.cast(pa.large_string()) for part in parts]
    chunks = [chunk for part in parts for chunk in part.chunks]
    whole = pa.chunked_array(chunks, pa.large_string()).dictionary_encode().unify_dictionaries()
    encoded: list[Any] = whole.chunks
    codes: Any = pa.chunked_array([chunk.indices for chunk in encoded], pa.int32())
    vocabulary = encoded[0].dictionary if encoded else pa.nulls(0, pa.large_string())
    values, absent = to_numpy(codes.cast(pa.int64()).combine_chunks())
    columns, start = [], 0
    for part in parts:
        rows = slice(start, start + len(part))
        missing = absent[rows] if absent is not None and part.null_count else None
        columns.append(Column(values[rows], missing, vocabulary))
        start += len(part)
    return columns


def are_equal(left: Column, right: Column, rows: int) -> bool:
    """Tell whether the first rows of two columns of one vocabulary agree."""
    if left is right:
        return True
    return all(left.take(some).equals(right.take(some)).all() for some in slices(rows))
