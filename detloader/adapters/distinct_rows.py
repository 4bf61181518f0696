"""Whether rows of a table of Hugging Face's repeat, and whether each has an ID of its own."""

from __future__ import annotations

from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["count_distinct", "is_naming"]

FEW = 1 / 64
"""Share of a table's rows below which those that are chosen are hashed, and not flagged."""

MOST_BYTES = 2**24
"""Bytes of a column up to which it is read before the run begins: some millions of numbers."""


def count_distinct(places: pa.ChunkedArray[Any], size: int) -> int:
    """Count the rows of a table of that size that are chosen, each once."""
    if len(places) < FEW * size:
        return len(places.unique())
    chosen = np.zeros(size, np.bool_)
    for chunk in places.chunks:
        chosen[chunk.to_numpy()] = True
    return int(np.count_nonzero(chosen))


def is_naming(dataset: datasets.Dataset, key: str) -> bool:
    """Tell whether a column is seen to name each row of the table behind a dataset otherwise."""
    if key not in dataset.data.column_names or dataset.format["type"] == "custom":
        return False  # a transform delivers under this name what it likes
    column = dataset.data.column(key)
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if column.nbytes > MOST_BYTES or not (is_text or pa.types.is_integer(column.type)):
        return False
    return bool(pc.count_distinct(column).as_py() == len(column))
