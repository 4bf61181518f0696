"""Calls of TensorFlow's functions: the datasets that they are given are replaced by their twins."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from detloader.breaking import breaking_off
from detloader.interception.graphs import distributed_in, iterated_in
from detloader.interception.session import current_session, is_recorded

__all__ = ["giving_twins"]


def giving_twins(call: Any, takes_distributed: Callable[[Any], bool]) -> Any:
    """Return a function's `__call__` that gives it twins, and breaks off what it iterates.

    Args:
        call: the one of its class.
        takes_distributed: tells of a function whether it takes the twin of a distributed dataset.
    """
    import tensorflow as tf
    from tensorflow.python.framework.errors_impl import OutOfRangeError

    @functools.wraps(call)
    def with_twins(function: Any, *arguments: Any, **options: Any) -> Any:
        if current_session() is None:
            return call(function, *arguments, **options)
        # While another function is traced, a line says that it is not seen.
        distributed = tf.executing_eagerly() and takes_distributed(function)
        arguments = _with_twins(arguments, distributed)
        options = _with_twins(options, distributed)
        with breaking_off(OutOfRangeError):
            return call(function, *arguments, **options)

    return with_twins


def _with_twins(value: Any, distributed: bool) -> Any:  # noqa: FBT001 - as in the call above
    """Replace the datasets in nested arguments; what holds none stays the same object."""
    from tensorflow import nest

    try:
        parts = nest.flatten(value)
    except TypeError:
        # TensorFlow is about to say so itself.
        return value
    twins = [_in_place_of(part, distributed) for part in parts]
    if all(twin is part for twin, part in zip(twins, parts, strict=True)):
        return value
    return nest.pack_sequence_as(value, twins)


def _in_place_of(part: Any, distributed: bool) -> Any:  # noqa: FBT001 - as above
    from tensorflow.python.data.ops.dataset_ops import DatasetV2
    from tensorflow.python.types.distribute import DistributedDatasetInterface

    if isinstance(part, DatasetV2):
        return iterated_in(part)
    if distributed and isinstance(part, DistributedDatasetInterface):
        return _twin_of_distributed(part) or part
    return part


def _twin_of_distributed(value: Any) -> Any | None:
    from detloader.adapters.distribution import is_made

    if is_recorded(value) or not is_made(value):
        return None
    return distributed_in(value)
