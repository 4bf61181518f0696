"""TensorFlow: each dataset that a program iterates is replaced by its twin as it begins."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from detloader.interception.changes import Changes
from detloader.interception.session import note_places, twin_of, without_recording

__all__ = ["MODULE", "install"]

MODULE = "tensorflow.python.data.ops.dataset_ops"


def install(module: ModuleType, changes: Changes) -> None:
    """Change the class that all datasets are derived from."""
    note_places(module.DatasetV2, changes)

    def wrapped(iterate: Any) -> Any:
        @functools.wraps(iterate)
        def begin(dataset: Any) -> Any:
            twin = twin_of(dataset) if module.context.executing_eagerly() else None
            if twin is None:
                return iterate(dataset)
            with without_recording():
                return type(twin).__iter__(twin)

        return begin

    changes.replace(module.DatasetV2, "__iter__", wrapped)
