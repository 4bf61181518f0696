"""The IDs of a source's records, as the user gives them: one for each index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from detloader.errors import UsageError

__all__ = ["id_array"]


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
