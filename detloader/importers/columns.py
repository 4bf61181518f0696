"""The type of each column of an order log, decided for the column as a whole.

A digest is exact or it is text: no value ever passes through a float, and one
value that is no number makes the whole column text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
from pyarrow import compute

from detloader.errors import LogError
from detloader.importers.format import MIXED

if TYPE_CHECKING:
    from detloader.importers.format import LogFormat

    Values: TypeAlias = pa.ChunkedArray[Any]

__all__ = ["as_integers", "type_columns"]

_DIGESTS = frozenset({"draws", "content", "raw"})
_IDS = frozenset({"record", "asked", "split", "mixture"})
_WHOLE = frozenset({"epoch", "batch", "rank", "worker", "worker_epoch", "index"})
_NEVER_EMPTY = frozenset({"record", "epoch", "batch", "rank", "stream"})

_INTEGER = r"^(0|-?[1-9][0-9]*)$"
_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"


def type_columns(raw: pa.Table, log_format: LogFormat) -> pa.Table:
    """Return the columns in the types in which a run stores them.

    Args:
        raw: columns as the format's reader gives them.
        log_format: the format, for what its text means and how it counts rows.

    Raises:
        LogError: if a value does not fit its column; the message names the row.
    """
    columns = {
        name: _typed(_Column(name, raw.column(name), raw.schema.field(name), log_format))
        for name in raw.column_names
    }
    if log_format.is_text and "asked" in columns and pa.types.is_string(columns["record"].type):
        # What was asked for is compared with what came, so both are text.
        columns["asked"] = raw.column("asked")
    return pa.table(columns)


@dataclass(frozen=True, slots=True)
class _Column:
    """A column as it was read."""

    name: str
    values: Values
    field: pa.Field[Any]
    log_format: LogFormat

    def row(self, place: int) -> str:
        """Name a row as a person who looks into the log would count it."""
        return f"{self.log_format.row_name} {place + self.log_format.first_row}"


def _typed(column: _Column) -> Values:
    if column.name in _NEVER_EMPTY:
        _refuse_empty(column)
    if column.name in _DIGESTS or column.name.startswith("draws_"):
        return _digests(column)
    if column.name in _IDS:
        return _ids(column)
    if column.name in _WHOLE:
        return _whole_numbers(column)
    if column.name == "padding":
        return _flags(column)
    if column.name == "stream":
        return column.values.cast(pa.string())
    return _any(column)


def _refuse_empty(column: _Column) -> None:
    values = column.values
    if pa.types.is_string(values.type):
        empty = compute.is_in(values, value_set=pa.array(["", None], pa.string()))
    else:
        empty = compute.is_null(values, nan_is_null=True)
    place = compute.index(empty, value=True).as_py()
    if place >= 0:
        raise LogError(
            f"{column.row(place)}: {column.name} is empty: give every row one"
            + ("" if column.name == "record" else ", or leave the column out")
        )


def _digests(column: _Column) -> Values:
    kind = column.values.type
    if pa.types.is_floating(kind):
        raise LogError(
            f"column {column.name} is of type {kind}, in which digests lose digits: "
            "write them as uint64 or as text"
        )
    numbers = as_integers(column.values, pa.uint64())
    return column.values.cast(pa.string()) if numbers is None else numbers


def _ids(column: _Column) -> Values:
    if column.field.metadata and MIXED in column.field.metadata:
        place = int(column.field.metadata[MIXED])
        raise LogError(
            f"{column.row(place)}: {column.name} has another type than before: "
            "write all IDs as integers below 2**63, or all as text"
        )
    kind = column.values.type
    is_text = pa.types.is_string(kind)
    if is_text and not column.log_format.is_text:
        return column.values
    numbers = as_integers(column.values, pa.int64()) if _is_text_or_integer(kind) else None
    if numbers is None and not is_text:
        raise LogError(
            f"column {column.name} is of type {kind}: write IDs as integers below 2**63, or as text"
        )
    return column.values if numbers is None else numbers


def _whole_numbers(column: _Column) -> Values:
    numbers = as_integers(column.values, pa.int64())
    if numbers is not None:
        _refuse_negative_rank(column, numbers)
        return numbers
    place = next(
        place
        for place in range(len(column.values))
        if as_integers(column.values.slice(place, 1), pa.int64()) is None
    )
    value = column.values[place].as_py()
    raise LogError(
        f"{column.row(place)}: {column.name} is {value!r}, and must be a whole number: "
        f"mend it, or give the column another name with --column NAME={column.name}"
    )


def _refuse_negative_rank(column: _Column, numbers: Values) -> None:
    if column.name != "rank":
        return
    place = compute.index(compute.less(numbers, pa.scalar(0)), value=True).as_py()
    if place >= 0:
        raise LogError(f"{column.row(place)}: rank is below zero: ranks count from 0")


def _flags(column: _Column) -> Values:
    words = compute.utf8_lower(column.values.cast(pa.string()))
    known = compute.is_in(words, value_set=pa.array(["0", "1", "false", "true", None]))
    place = compute.index(known, value=False).as_py()
    if place >= 0:
        raise LogError(
            f"{column.row(place)}: padding is {column.values[place].as_py()!r}: "
            "write 0, 1, true or false"
        )
    return words.cast(pa.bool_())


def _any(column: _Column) -> Values:
    values, kind = column.values, column.values.type
    if pa.types.is_floating(kind):
        return values.cast(pa.float64())
    if pa.types.is_integer(kind):
        return values.cast(pa.uint64() if pa.types.is_uint64(kind) else pa.int64())
    if column.log_format.is_text and values.null_count < len(values):
        return _inferred(values)
    return values


def _inferred(texts: Values) -> Values:
    """Return text as integers, floats or booleans where that holds for every value."""
    numbers = as_integers(texts, pa.int64())
    if numbers is not None:
        return numbers
    if _all_match(texts, r"^([tT]rue|[fF]alse)$"):
        return texts.cast(pa.bool_())
    # An integer that int64 cannot hold would lose digits in a float, so it stays text.
    too_long = _any_match(texts, r"^-?[0-9]{16,}$")
    return texts.cast(pa.float64()) if _all_match(texts, _NUMBER) and not too_long else texts


def as_integers(values: Values, kind: pa.DataType) -> Values | None:
    """Return the values as integers, or None where one of them is none or is out of range."""
    if pa.types.is_string(values.type) and not _all_match(values, _INTEGER):
        return None
    if pa.types.is_boolean(values.type):
        return None
    try:
        return values.cast(kind)
    except pa.ArrowInvalid:
        return None


def _is_text_or_integer(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_integer(kind)


def _all_match(texts: Values, pattern: str) -> bool:
    matches = compute.match_substring_regex(texts, pattern)
    return compute.all(matches, min_count=0).as_py() is True


def _any_match(texts: Values, pattern: str) -> bool:
    return compute.any(compute.match_substring_regex(texts, pattern), min_count=0).as_py() is True
