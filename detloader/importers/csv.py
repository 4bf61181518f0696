"""Order logs in CSV: a line of column names, then a line for each row."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
from pyarrow import csv as arrow_csv

from detloader.errors import LogError
from detloader.importers.format import LogFormat

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FORMAT"]


def _read(path: Path) -> pa.Table:
    """Read every column as text; an empty field is null.

    Raises:
        LogError: if the file is empty, ragged, or not UTF-8.
    """
    names = _column_names(path)
    ragged: list[arrow_csv.InvalidRow] = []

    def refuse(row: arrow_csv.InvalidRow) -> Literal["error"]:
        ragged.append(row)
        return "error"

    try:
        return arrow_csv.read_csv(
            path,
            # One thread, for only then are rows numbered.
            read_options=arrow_csv.ReadOptions(use_threads=False),
            parse_options=arrow_csv.ParseOptions(
                newlines_in_values=True,
                # In a single column, an empty line is an empty value.
                ignore_empty_lines=len(names) > 1,
                invalid_row_handler=refuse,
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid as error:
        raise LogError(_explain(path, error, ragged)) from error


def _column_names(path: Path) -> list[str]:
    """Return the fields of the first line."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            names = next(csv.reader(file), [])
    except UnicodeDecodeError as error:
        raise LogError(_not_utf8(path)) from error
    except csv.Error as error:
        raise LogError(f"{path}: the line of column names cannot be read: {error}") from error
    if not names:
        raise LogError(
            f"{path} is empty: a log begins with a line of column names, one of them record"
        )
    return names


def _explain(path: Path, error: pa.ArrowInvalid, ragged: list[arrow_csv.InvalidRow]) -> str:
    """Say what is wrong with the file in one line."""
    if ragged:
        row = ragged[0]
        return (
            f"{path}: row {row.number} has {row.actual_columns} fields, the line of column names "
            f"{row.expected_columns}: fill or quote the fields of that row"
        )
    if "invalid UTF8" in str(error):
        return _not_utf8(path)
    if "Empty CSV" in str(error):
        return f"{path} has no line end after its column names: end the line, or add rows"
    return f"{path} is no CSV that can be read: {' '.join(str(error).split())}"


def _not_utf8(path: Path) -> str:
    return f"{path} is not UTF-8: convert it first, for example with iconv -t utf-8"


FORMAT = LogFormat(suffixes=(".csv",), read=_read, is_text=True, row_name="row", first_row=2)
