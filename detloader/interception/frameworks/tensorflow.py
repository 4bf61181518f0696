"""TensorFlow: each dataset that a program iterates is replaced by its twin as it begins."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from detloader.breaking import breaking_off
from detloader.interception.aside import without_recording
from detloader.interception.changes import Changes
from detloader.interception.graphs import is_loop, iterated_in
from detloader.interception.session import note_places

__all__ = ["MODULE", "install", "iterating_twins"]

MODULE = "tensorflow.python.data.ops.dataset_ops"


def install(module: ModuleType, changes: Changes) -> None:
    """Change the class that all datasets are derived from."""
    note_places(module.DatasetV2, changes)
    changes.replace(module.DatasetV2, "__iter__", iterating_twins)
    changes.replace(module.DatasetV2, "reduce", _reducing_twins)


def iterating_twins(iterate: Any) -> Any:
    """Return an `__iter__` that begins the twin of a dataset, where that is recorded."""

    @functools.wraps(iterate)
    def begin(dataset: Any) -> Any:
        twin = iterated_in(dataset)
        if twin is dataset:
            return iterate(dataset)
        with without_recording():
            return type(twin).__iter__(twin)

    return begin


def _reducing_twins(reduce: Any) -> Any:
    from tensorflow.python.framework.errors_impl import OutOfRangeError

    @functools.wraps(reduce)
    def of_twin(dataset: Any, *arguments: Any, **options: Any) -> Any:
        reduced = dataset if is_loop(dataset) else iterated_in(dataset)
        with breaking_off(OutOfRangeError):
            return reduce(reduced, *arguments, **options)

    return of_twin
