"""Rows as data frames of pandas, which is imported when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from detloader.extras import require

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["stacked", "to_frame"]


def to_frame(table: pa.Table) -> Any:
    """Give a table as a data frame: no digest takes the way over float64, where it would be cut."""
    pandas = require("pandas", extra="pandas")
    nullable = {
        pa.uint64(): pandas.UInt64Dtype(),
        pa.int64(): pandas.Int64Dtype(),
        pa.bool_(): pandas.BooleanDtype(),
    }
    return table.to_pandas(types_mapper=nullable.get)


def stacked(frames: Mapping[str, Any]) -> Any:
    """Give the frames of several streams as one, with the name of each row's stream."""
    pandas = require("pandas", extra="pandas")
    named = [frame.assign(stream=name) for name, frame in frames.items()]
    whole = pandas.concat(named, ignore_index=True)
    columns = ["stream", *(name for name in whole.columns if name != "stream")]
    return whole[columns]
