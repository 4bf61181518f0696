"""What an ID of a generator's dataset is on record: an integer, text, or JSON text.

>>> kind_of([1, 2]), kind_of(["a", b"b"]), kind_of([(1, "a"), (2, "b")])
(<Kind.INTEGER: 'integers'>, <Kind.TEXT: 'text'>, <Kind.JSON: 'JSON'>)
>>> as_array([(1, "a"), (2, "b")], Kind.JSON).to_pylist()
['[1,"a"]', '[2,"b"]']
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import PurePath
from typing import Any

import numpy as np
import pyarrow as pa

from detloader.errors import UsageError

__all__ = ["Kind", "as_array", "as_text", "kind_of"]


class Kind(StrEnum):
    """How the IDs of one run are written down."""

    INTEGER = "integers"
    TEXT = "text"
    JSON = "JSON"


def kind_of(ids: Iterable[Any]) -> Kind:
    """Return the kind that suits all of them."""
    kinds = {_kind(_plain(record)) for record in ids}
    return kinds.pop() if len(kinds) == 1 else Kind.JSON


def as_array(ids: Sequence[Any], kind: Kind) -> pa.Array[Any]:
    """Return IDs as a column, int64 or text.

    Raises:
        UsageError: one is of another kind, or has no JSON text.
    """
    if kind is Kind.JSON:
        return pa.array([as_text(record) for record in ids], pa.string())
    values = [_plain(record) for record in ids]
    for value in values:
        if _kind(value) is not kind:
            raise UsageError(f"IDs were {kind} so far, and {value!r} is not: give ids= to record")
    return pa.array(values, pa.int64() if kind is Kind.INTEGER else pa.string())


def as_text(record: object) -> str:
    """Return an ID's compact JSON; equal IDs have equal text.

    Raises:
        UsageError: it has none.
    """
    try:
        return json.dumps(
            record, default=_jsonable, separators=(",", ":"), sort_keys=True, ensure_ascii=False
        )
    except (TypeError, ValueError, RecursionError) as error:
        kind = type(record).__name__
        raise UsageError(f"an ID of type {kind} has no JSON text: give ids= to record") from error


def _kind(value: object) -> Kind:
    if isinstance(value, str):
        return Kind.TEXT
    if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
        return Kind.INTEGER
    return Kind.JSON


def _plain(record: object) -> object:
    """Return Python's own number or text for what other libraries and paths stand for."""
    if isinstance(record, int | str):
        return record
    if isinstance(record, bytes):
        return record.decode(errors="backslashreplace")
    if isinstance(record, PurePath):
        return record.as_posix()
    if isinstance(record, os.PathLike):
        return os.fspath(record)
    return record.item() if isinstance(record, np.generic) else record


def _jsonable(value: object) -> object:
    plain = value.tolist() if hasattr(value, "tolist") else _plain(value)
    if plain is value:
        raise TypeError(type(value).__name__)
    return plain
