"""The IDs of records, as the user gives them: one for each index, or to be found in elements."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
import pyarrow as pa

from detloader.adapters.on_host import on_host
from detloader.errors import UsageError
from detloader.findings import RecordId

__all__ = [
    "MIXED",
    "as_id",
    "as_ids",
    "find_id",
    "fits_int64",
    "id_array",
    "ids_of_elements",
    "samples_in",
]

MIXED = "some ids are whole numbers and some are text: make them all of one type"


def fits_int64(number: int | np.integer[Any]) -> bool:
    """Tell whether a column of 64-bit integers can hold a number, as each ID has to be one."""
    return -(2**63) <= int(number) < 2**63


def as_id(found: Any) -> RecordId:
    """Return what was found as an ID: a number of Python's, or text, as of a path.

    Raises:
        UsageError: it is none.
    """
    value = found if isinstance(found, int | str | bytes) else _plain(found)
    if isinstance(value, str | bytes):
        return _as_text(value)
    if isinstance(value, bool) or not isinstance(value, int):
        message = f"an ID is a 64-bit integer or a string, not {reprlib.repr(value)}"
        raise UsageError(message)
    if not fits_int64(value):
        message = (
            f"an ID is a signed 64-bit integer, from -2**63 to 2**63-1, or a string, not {value}: "
            "give ids as a function that makes text of it, with str"
        )
        raise UsageError(message)
    return value


def _plain(found: Any) -> Any:
    return str(found) if isinstance(found, PurePath) else np.asarray(on_host(found)).tolist()


def as_ids(found: Iterable[Any]) -> list[RecordId]:
    """Return what was found for the rows of a batch, as IDs.

    Raises:
        UsageError: one of them is none; it names the row.
    """
    ids: list[RecordId] = []
    for row, value in enumerate(found):
        try:
            ids.append(as_id(value))
        except UsageError as error:
            message = f"row {row}: {error}"
            raise UsageError(message) from error
    return ids


def _as_text(value: str | bytes) -> str:
    try:
        if isinstance(value, bytes):
            return value.decode()
        value.encode()
    except UnicodeError as error:
        message = (
            f"the ID {reprlib.repr(value)} has no UTF-8: "
            "give ids as a function that makes text of it, such as os.fsencode(name).hex()"
        )
        raise UsageError(message) from error
    return value


def ids_of_elements(ids: Any, what: str) -> str | Callable[[Any], Any] | None:
    """Return how IDs are found in the elements of a loader that does not say which record it reads.

    Raises:
        UsageError: nobody could tell by them who is who.
    """
    if ids is None or isinstance(ids, str) or callable(ids):
        return ids
    message = (
        f"{what} does not say which record it reads: give ids as a key of its elements that is "
        f"text, or as a function of one, not as {reprlib.repr(ids)}"
    )
    raise UsageError(message)


def id_array(ids: object, size: int) -> pa.Array[Any]:
    """Return the ID of each record of a source, int64 or text.

    Raises:
        UsageError: they are no sequence, of mixed types, or not as many as the records.
    """
    if isinstance(ids, str) or not isinstance(ids, Sequence | np.ndarray):
        message = "ids of such a loader are a sequence: ids[i] is that of source index i"
        raise UsageError(message)
    first = next(iter(ids), 0)
    try:
        array = pa.array(ids, pa.string() if isinstance(first, str) else pa.int64())
    except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeError, OverflowError) as error:
        as_ids(ids)
        message = f"ids must be all integers or all strings: {error}"
        raise UsageError(message) from error
    if array.null_count:
        raise UsageError("ids hold a None: give each record an ID")
    if any(not issubclass(kind, int | np.integer | str) for kind in set(map(type, ids))):
        as_ids(ids)  # Arrow cuts fractions off
    if len(array) != size:
        message = f"{len(array)} ids for a source of {size} records: give one for each"
        raise UsageError(message)
    return array


def find_id(ids: Any, element: Any) -> Any:
    """Return what an element has under a key, or what a function finds in it.

    Raises:
        UsageError: there is no such key, or the function failed.
    """
    if callable(ids):
        try:
            return ids(element)
        except Exception as error:
            kind = type(element).__name__
            message = f"the function given as ids fails for an element, a {kind}: {error!r}"
            raise UsageError(message) from error
    try:
        return element[ids]
    except (LookupError, TypeError, ValueError) as error:
        kind = type(element).__name__
        message = f"ids={ids!r} is no key of an element, a {kind}: give a function of it"
        if isinstance(element, Mapping):
            keys = ", ".join(map(repr, element))
            message = f"ids={ids!r} is no key of an element: there are {keys}"
        raise UsageError(message) from error


def samples_in(ids: Any, batch: Any) -> Sequence[Any] | None:
    """Return the records of a batch that is a list of them, each with its ID under a key."""
    if not isinstance(ids, str) or not isinstance(batch, list | tuple) or not batch:
        return None
    return batch if all(isinstance(sample, Mapping) for sample in batch) else None
