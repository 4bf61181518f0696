"""Elements of which each replica of a strategy gets a part, told and read as one.

Its records are those of the first replica, then those of the second one, and so on.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from detloader.adapters.elements import Delivered
from detloader.adapters.tensorflow.iterations import Iteration
from detloader.adapters.tensorflow.readers import PlainReader
from detloader.adapters.tensorflow.restored import is_told
from detloader.adapters.tensorflow.telling import tell_parts

__all__ = ["ReplicaReader", "tell_replicas", "tell_replicas_of_optional"]


def tell_replicas(token: Any, element: Any) -> Any:
    """Tell of an element, now or whenever the graph delivers one, and return it.

    Args:
        token: that of the iteration, or a tensor that will be it.
        element: what a strategy takes at once: of several replicas, with their values as leaves.
    """
    return tell_parts(token, _told(element), element)


def tell_replicas_of_optional(token: Any, optional: Any) -> Any:
    """Tell of what an optional holds, if it holds something, and return it."""

    def tell_now() -> Any:
        tell_replicas(token, optional.get_value())
        return True

    told = tf.cond(optional.has_value(), tell_now, lambda: False)
    if tf.executing_eagerly():
        return optional
    with tf.control_dependencies([told]):
        return tf.nest.map_structure(tf.identity, optional, expand_composites=True)


def _told(element: Any) -> list[Any]:
    """Return the tensors of an element, those of the first replica first."""
    leaves = [_values(leaf) for leaf in tf.nest.flatten(element)]
    count = max(map(len, leaves), default=0)
    parts = [values[number % len(values)] for number in range(count) for values in leaves]
    return [*filter(is_told, tf.nest.flatten(parts, expand_composites=True))]


def _values(leaf: Any) -> tuple[Any, ...]:
    return leaf.values if isinstance(leaf, tf.distribute.DistributedValues) else (leaf,)


class ReplicaReader:
    """Reads elements of several replicas, each as a reader of one would."""

    marked = False
    needs_elements = True

    def __init__(self, reader: PlainReader, replicas: int) -> None:
        """Take what reads the part of one replica, and how many there are."""
        self._reader = reader
        self._replicas = replicas
        self.begin = reader.begin
        self.encode = reader.encode

    def read(self, arrays: Sequence[Any], iteration: Iteration) -> tuple[Delivered, int]:
        """Read one element."""
        count = len(arrays) // self._replicas
        told = [arrays[number * count :][:count] for number in range(self._replicas)]
        parts = [self._reader.read(part, iteration)[0] for part in told]
        contents = [part.content for part in parts if part.content is not None]
        content = np.concatenate(contents) if len(contents) == len(parts) else None
        ids = [*itertools.chain.from_iterable(part.ids for part in parts)]
        epoch = iteration.first_epoch
        return Delivered(ids, content, epoch, parts[0].batch), epoch
