"""Which records of the data set below a `Subset` has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from torch.utils.data import Subset

__all__ = ["places_of"]


def places_of(dataset: object) -> pa.Array[Any] | None:
    """Return where each record of a subset stands in the innermost data set, which is not read.

    Returns:
        int64, or text where that is read by names; None of what is no subset, or one whose
        indices are neither.
    """
    places: pa.Array[Any] | None = None
    while isinstance(dataset, Subset):
        below = _as_places(dataset.indices)
        if below is None or (places is not None and not pa.types.is_int64(places.type)):
            return None
        places = below if places is None else below.take(_from_start(places, len(below)))
        dataset = dataset.dataset
    return places


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
