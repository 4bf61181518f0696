"""TensorFlow's strategies: what they distribute over devices is recorded as one dataset.

The iterators that they make for their devices are none of the program's.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from detloader.interception.aside import without_recording
from detloader.interception.changes import Changes
from detloader.interception.graphs import distributed_in
from detloader.interception.session import current_session

__all__ = ["MODULE", "install"]

MODULE = "tensorflow.python.distribute.input_lib"


def install(module: ModuleType, changes: Changes) -> None:
    """Change both classes of distributed datasets."""
    for kind in (module.DistributedDataset, module.DistributedDatasetsFromFunction):
        changes.replace(kind, "__iter__", _iterating_twins)


def _iterating_twins(iterate: Any) -> Any:
    @functools.wraps(iterate)
    def begin(distributed: Any) -> Any:
        told = None if current_session() is None else _told(distributed)
        with without_recording():
            return iterate(distributed) if told is None else type(told).__iter__(told)

    return begin


def _told(distributed: Any) -> Any | None:
    from detloader.adapters.distribution import is_iterated_by_twin, is_made

    if is_iterated_by_twin() or not is_made(distributed):
        return None
    return distributed_in(distributed)
