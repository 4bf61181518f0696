"""What a distributed dataset of TensorFlow's is made of; needs no TensorFlow.

The twin of one iterates it as it is, and whoever records iterations lets that one pass.
"""

# TensorFlow offers no way to ask its datasets, so this module reads their private fields.
# ruff: noqa: SLF001

from __future__ import annotations

import threading
from typing import Any

__all__ = ["is_iterated_by_twin", "is_made", "iterate_by_twin", "parts_of", "source_of"]


class _Thread(threading.local):
    by_twin = False


_thread = _Thread()


def iterate_by_twin(distributed: Any) -> Any:
    """Return an iterator over a distributed dataset, which its twin tells of."""
    before, _thread.by_twin = _thread.by_twin, True
    try:
        return iter(distributed)
    finally:
        _thread.by_twin = before


def is_iterated_by_twin() -> bool:
    """Tell whether what is iterated now is told of already."""
    return _thread.by_twin


def is_made(distributed: Any) -> bool:
    """Tell whether its datasets are made here, and not on the workers of a cluster."""
    return bool(distributed._built)


def parts_of(distributed: Any) -> list[Any]:
    """Return the datasets that it takes elements from: one for each worker."""
    parts = getattr(distributed, "_cloned_datasets", None)
    return list(distributed._datasets if parts is None else parts)


def source_of(distributed: Any) -> Any:
    """Return the dataset that was distributed, or else the first that a function made of it."""
    source = getattr(distributed, "_original_dataset", None)
    return parts_of(distributed)[0] if source is None else source
