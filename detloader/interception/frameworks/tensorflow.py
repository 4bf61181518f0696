"""TensorFlow: each dataset that a program iterates is replaced by its twin as it begins."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from detloader.interception.session import note_place, twin_of, without_recording

__all__ = ["MODULE", "install"]

MODULE = "tensorflow.python.data.ops.dataset_ops"


def install(module: ModuleType) -> None:
    """Change the class that all datasets are derived from."""
    kind: Any = module.DatasetV2
    init, iterate = kind.__init__, kind.__iter__

    @functools.wraps(init)
    def initialise(dataset: Any, *arguments: Any, **options: Any) -> None:
        init(dataset, *arguments, **options)
        note_place(dataset)

    @functools.wraps(iterate)
    def begin(dataset: Any) -> Any:
        twin = twin_of(dataset) if module.context.executing_eagerly() else None
        if twin is None:
            return iterate(dataset)
        with without_recording():
            return type(twin).__iter__(twin)

    kind.__init__, kind.__iter__ = initialise, begin
