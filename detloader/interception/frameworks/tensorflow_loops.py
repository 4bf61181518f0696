"""TensorFlow's own loops: `for batch in dataset` within a `tf.function`."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from detloader.interception.changes import Changes
from detloader.interception.graphs import iterated_in, note_loop

__all__ = ["MODULE", "install"]

MODULE = "tensorflow.python.data.ops.dataset_autograph"


def install(module: ModuleType, changes: Changes) -> None:
    """Change what TensorFlow makes of such a loop: a scan, which is then reduced."""
    changes.replace(module, "_general_purpose_scan", _scanning_twins)


def _scanning_twins(scan: Any) -> Any:
    @functools.wraps(scan)
    def of_twin(dataset: Any, *arguments: Any, **options: Any) -> Any:
        loop = scan(iterated_in(dataset), *arguments, **options)
        note_loop(loop)
        return loop

    return of_twin
