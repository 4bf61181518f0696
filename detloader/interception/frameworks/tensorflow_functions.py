"""Datasets that a program hands to a `tf.function`, which iterates them by itself."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from detloader.interception.changes import Changes
from detloader.interception.session import current_session, twin_of

__all__ = ["MODULE", "install"]

MODULE = "tensorflow.python.eager.polymorphic_function.polymorphic_function"


def install(module: ModuleType, changes: Changes) -> None:
    """Change the call of a function: it is given twins."""

    def wrapped(call: Any) -> Any:
        @functools.wraps(call)
        def with_twins(function: Any, *arguments: Any, **options: Any) -> Any:
            if current_session() is not None and module.context.executing_eagerly():
                arguments, options = _with_twins(arguments), _with_twins(options)
            return call(function, *arguments, **options)

        return with_twins

    changes.replace(module.Function, "__call__", wrapped)


def _with_twins(value: Any) -> Any:
    """Replace the datasets in nested arguments; what holds none stays the same object."""
    if type(value) in {list, tuple}:
        twins = [*map(_with_twins, value)]
        is_same = all(twin is one for twin, one in zip(twins, value, strict=True))
        return value if is_same else type(value)(twins)
    if type(value) is dict:
        replaced = {key: _with_twins(one) for key, one in value.items()}
        return value if all(replaced[key] is value[key] for key in value) else replaced
    from tensorflow.python.data.ops.dataset_ops import DatasetV2

    return (twin_of(value) or value) if isinstance(value, DatasetV2) else value
