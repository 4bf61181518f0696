"""The IDs of records, as the user gives them: one for each index, or to be found in elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from detloader.errors import UsageError

__all__ = ["MIXED", "find_id", "fits_int64", "id_array", "samples_in"]

MIXED = "some ids are whole numbers and some are text: make them all of one type"


def fits_int64(number: int | np.integer[Any]) -> bool:
    """Tell whether a column of 64-bit integers can hold a number, as each ID has to be one."""
    return -(2**63) <= int(number) < 2**63


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
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        message = f"ids must be all integers or all strings: {error}"
        raise UsageError(message) from error
    if array.null_count:
        raise UsageError("ids hold a None: give each record an ID")
    if len(array) != size:
        message = f"{len(array)} ids for a source of {size} records: give one for each"
        raise UsageError(message)
    return array


def find_id(ids: Any, element: Any) -> Any:
    """Return what an element has under a key, or what a function finds in it.

    Raises:
        UsageError: there is no such key.
    """
    if callable(ids):
        return ids(element)
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
