"""Tables of other packages that are elements: pandas', Arrow's, and what Arrow can read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["rows_of_table"]


def rows_of_table(element: Any) -> list[dict[str, Any]] | None:
    """Return the rows of a table, as Python has their values; None of what is no table."""
    if not hasattr(element, "columns"):
        return None
    if hasattr(element, "iloc"):
        columns = element.to_dict("list")
        return [
            {name: _plain(value) for name, value in zip(columns, row, strict=True)}
            for row in zip(*columns.values(), strict=True)
        ]
    if hasattr(element, "__arrow_c_stream__") or isinstance(element, pa.RecordBatch):
        found: list[dict[str, Any]] = pa.table(element).to_pylist()
        return found
    return None


def _plain(value: Any) -> Any:
    """Return lists of lists as such, for pandas has them as arrays of objects."""
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        return [_plain(part) for part in value.tolist()]
    return value
