"""The graph that TensorFlow writes of a dataset, where that is no copy of much data."""

# TensorFlow offers no way to ask its operations, so this module reads their private fields.
# ruff: noqa: SLF001

from __future__ import annotations

import tensorflow as tf
from tensorflow.core.framework.graph_pb2 import GraphDef
from tensorflow.python.data.ops.options import ExternalStatePolicy

from detloader.adapters.tensorflow.memory import bytes_in
from detloader.adapters.walk import bottom_up

__all__ = ["written"]

_OF_AN_OPERATION = 400
"""Bytes that the graph has for an operation without data, on the whole."""

_MOST_BYTES = 4 * 2**20
"""Of data in memory, as the names of files are, that a graph may hold and is read all the same."""


def written(dataset: tf.data.Dataset) -> GraphDef | None:
    """Return the graph of a dataset and of its functions; None where none can be read."""
    if not tf.executing_eagerly() or _bytes_of_graph(dataset) > _MOST_BYTES:
        return None
    try:
        text = dataset._as_serialized_graph(external_state_policy=ExternalStatePolicy.IGNORE)
    except tf.errors.OpError:  # Some, as that of a custom operation, have no graph to write.
        return None
    return GraphDef.FromString(text.numpy())


def _bytes_of_graph(dataset: tf.data.Dataset) -> float:
    """Estimate how long the written graph is: it holds all data that lies in memory.

    A dataset that is the input of several is written for each of them.
    """
    sizes: dict[int, float] = {}
    for node in bottom_up(dataset, lambda node: node._inputs()):
        behind = sum(sizes[id(each)] for each in node._inputs())
        sizes[id(node)] = _OF_AN_OPERATION + bytes_in(node) + behind
    return sizes[id(dataset)]
