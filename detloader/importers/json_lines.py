"""Order logs in JSON lines: one object a line, with one value for each column."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import pyarrow as pa

from detloader.errors import LogError
from detloader.importers.format import MIXED, LogFormat

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["FORMAT"]

Scalar: TypeAlias = bool | int | float | str | None

_INT64 = range(-(2**63), 2**63)
_UINT64 = range(2**64)
_EXACT_IN_FLOAT = 2**53


def _read(path: Path) -> pa.Table:
    """Read the lines; an absent value is null, and integers are exact at any size.

    Raises:
        LogError: if the file is empty, or a line is not an object of plain values.
    """
    rows = _rows(path)
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns, fields = [], []
    try:
        for name in names:
            values, mixed_at = _one_type([row.get(name) for row in rows])
            columns.append(values)
            metadata = None if mixed_at is None else {MIXED: str(mixed_at)}
            fields.append(pa.field(name, values.type, metadata=metadata))
    except UnicodeEncodeError as error:
        raise LogError(
            f"{path}: a text holds half of a surrogate pair: mend what wrote the log"
        ) from error
    return pa.table(columns, schema=pa.schema(fields))


def _rows(path: Path) -> list[dict[str, Scalar]]:
    """Return one object a line, so that a row's place tells its line."""
    rows: list[dict[str, Scalar]] = []
    blank = 0
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    blank = blank or number
                    continue
                if blank:
                    raise LogError(f"{path}: line {blank} is blank, and rows follow: remove it")
                rows.append(_row(path, number, line))
    except UnicodeDecodeError as error:
        raise LogError(
            f"{path} is not UTF-8: convert it first, for example with iconv -t utf-8"
        ) from error
    if not rows:
        raise LogError(f"{path} is empty: a log has a JSON object on each line")
    return rows


def _row(path: Path, number: int, line: str) -> dict[str, Scalar]:
    try:
        row = json.loads(line, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else error
        raise LogError(f"{path}: line {number} is no JSON that can be read: {reason}") from error
    if not isinstance(row, dict):
        raise LogError(f'{path}: line {number} is no object: write {{"record": …}} on each line')
    for name, value in row.items():
        if isinstance(value, dict | list):
            raise LogError(f"{path}: line {number}: {name} is not one value: make it a column each")
    return row


def _object(pairs: list[tuple[str, Scalar]]) -> dict[str, Scalar]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON; leave the value out where there is none")


def _one_type(values: Sequence[Scalar]) -> tuple[pa.Array[Any], int | None]:
    """Return one Arrow column, and the place at which its values change their type.

    Values of several types become the text that stands for each.
    """
    kinds = [_kind(value) for value in values]
    seen = {kind for kind in kinds if kind is not None}
    if not seen:
        return pa.nulls(len(values), pa.string()), None
    if seen <= {"int64", "uint64"} and all(v is None or v in _UINT64 for v in values):
        return pa.array(values, pa.uint64() if "uint64" in seen else pa.int64()), None
    if len(seen) == 1 and seen != {"integer"}:
        return pa.array(values), None
    if seen <= {"int64", "float"} and all(_is_exact_in_float(value) for value in values):
        return pa.array(values, pa.float64()), None
    first = next(kind for kind in kinds if kind is not None)
    changes = (place for place, kind in enumerate(kinds) if kind not in (None, first))
    return pa.array([_text(value) for value in values], pa.string()), next(changes, 0)


def _kind(value: Scalar) -> str | None:
    match value:
        case None:
            return None
        case bool():
            return "bool"
        case int():
            return "int64" if value in _INT64 else "uint64" if value in _UINT64 else "integer"
        case float():
            return "float"
        case str():
            return "text"


def _is_exact_in_float(value: Scalar) -> bool:
    return not isinstance(value, int) or abs(value) <= _EXACT_IN_FLOAT


def _text(value: Scalar) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)


FORMAT = LogFormat(
    suffixes=(".jsonl", ".ndjson"), read=_read, is_text=False, row_name="line", first_row=1
)
