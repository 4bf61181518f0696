"""Datasets that a program hands to a `tf.function`, which iterates them by itself."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from detloader.breaking import breaking_off
from detloader.interception.changes import Changes
from detloader.interception.graphs import distributed_in
from detloader.interception.session import current_session, is_recorded
from detloader.interception.twins import twin_of

__all__ = ["MODULE", "install"]

MODULE = "tensorflow.python.eager.polymorphic_function.polymorphic_function"


def install(module: ModuleType, changes: Changes) -> None:
    """Change the call of a function: it is given twins, and breaks off what it iterates."""
    from tensorflow.python.framework.errors_impl import OutOfRangeError

    def wrapped(call: Any) -> Any:
        @functools.wraps(call)
        def with_twins(function: Any, *arguments: Any, **options: Any) -> Any:
            if current_session() is None or not module.context.executing_eagerly():
                return call(function, *arguments, **options)
            # A signature may name the kind of a distributed dataset, which the twin's is not.
            distributed = function.input_signature is None
            arguments = _with_twins(arguments, distributed)
            options = _with_twins(options, distributed)
            with breaking_off(OutOfRangeError):
                return call(function, *arguments, **options)

        return with_twins

    changes.replace(module.Function, "__call__", wrapped)


def _with_twins(value: Any, distributed: bool) -> Any:  # noqa: FBT001 - goes down a tree
    """Replace the datasets in nested arguments; what holds none stays the same object."""
    if type(value) in {list, tuple}:
        twins = [_with_twins(one, distributed) for one in value]
        is_same = all(twin is one for twin, one in zip(twins, value, strict=True))
        return value if is_same else type(value)(twins)
    if type(value) is dict:
        replaced = {key: _with_twins(one, distributed) for key, one in value.items()}
        return value if all(replaced[key] is value[key] for key in value) else replaced
    from tensorflow.python.data.ops.dataset_ops import DatasetV2
    from tensorflow.python.types.distribute import DistributedDatasetInterface

    if isinstance(value, DatasetV2):
        return twin_of(value) or value
    if distributed and isinstance(value, DistributedDatasetInterface):
        return _twin_of_distributed(value) or value
    return value


def _twin_of_distributed(value: Any) -> Any | None:
    from detloader.adapters.distribution import is_made

    if is_recorded(value) or not is_made(value):
        return None
    return distributed_in(value)
