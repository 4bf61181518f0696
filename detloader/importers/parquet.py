"""Order logs in Parquet: columns keep the types that they have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import parquet

from detloader.errors import LogError
from detloader.importers.format import LogFormat

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FORMAT"]


def _read(path: Path) -> pa.Table:
    """Read all columns; dictionaries become the values that they stand for.

    Raises:
        LogError: if the file is no Parquet, or a column holds more than one value a row.
    """
    try:
        # The file alone: a reader of data sets would take columns from the folders' names.
        with parquet.ParquetFile(path) as file:
            table = file.read()
    except pa.ArrowException as error:
        reason = " ".join(str(error).split())
        raise LogError(f"{path} is no Parquet that can be read: {reason}") from error
    columns = [_plain(path, name, table.column(i)) for i, name in enumerate(table.column_names)]
    return pa.table(columns, names=table.column_names)


def _plain(path: Path, name: str, column: pa.ChunkedArray[Any]) -> pa.ChunkedArray[Any]:
    """Return a column of integers, floats, booleans or text."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _plain(path, name, column.cast(kind.value_type))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return column
    try:
        return column.cast(pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise LogError(
            f"{path}: column {name} is of type {kind}: write it as integers or text"
        ) from error


FORMAT = LogFormat(
    suffixes=(".parquet", ".pq"), read=_read, is_text=False, row_name="row", first_row=1
)
