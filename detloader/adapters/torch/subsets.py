"""Which records of the data set below a selection has: a `Subset`, or one of another package."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from torch.utils.data import Subset

from detloader.adapters import find_places

__all__ = ["places_of", "size_of"]


def places_of(dataset: object) -> pa.Array[Any] | None:
    """Return where each record of a selection stands in the innermost data set, which is not read.

    Returns:
        int64, or text where that is read by names; None of what is no selection, or one whose
        indices are neither.
    """
    places: pa.Array[Any] | None = None
    while isinstance(dataset, Subset):
        below = _as_places(dataset.indices)
        if below is None or not _are_numbers(places):
            return None
        places = _through(places, below)
        dataset = dataset.dataset
    if not _are_numbers(places):
        return places
    if (below := find_places(dataset)) is not None:
        return _through(places, below)
    size = size_of(dataset)
    return places if places is None or size is None else _from_start(places, size)


def size_of(dataset: Any) -> int | None:
    """Return how many records a data set has; None where it does not say."""
    try:
        return len(dataset)
    except Exception:  # noqa: BLE001  # a user's own raises what it likes
        return None


def _are_numbers(places: pa.Array[Any] | None) -> bool:
    return places is None or pa.types.is_int64(places.type)


def _through(places: pa.Array[Any] | None, below: pa.Array[Any]) -> pa.Array[Any]:
    return below if places is None else below.take(_from_start(places, len(below)))


def _as_places(indices: Any) -> pa.Array[Any] | None:
    if isinstance(indices, list | tuple) and all(isinstance(index, str) for index in indices):
        return pa.array(indices, pa.string())
    try:
        found = np.asarray(indices)
        return pa.array(found, pa.int64()) if found.ndim == 1 and found.dtype.kind in "iu" else None
    except (TypeError, ValueError):
        return None  # pairs, say, of a data set that is read by them


def _from_start(places: pa.Array[Any], size: int) -> pa.Array[Any]:
    """Count places from the beginning that are counted from the end."""
    numbers = places.to_numpy()
    return pa.array(np.where(numbers < 0, numbers + size, numbers))
