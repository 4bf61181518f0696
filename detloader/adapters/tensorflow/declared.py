"""What the graph of a TensorFlow dataset says of itself, where it can be read."""

# TensorFlow offers no way to ask its operations, so this module reads their private fields.
# ruff: noqa: SLF001

from __future__ import annotations

import re
from typing import Any

import tensorflow as tf
from tensorflow.core.framework.graph_pb2 import GraphDef
from tensorflow.python.data.ops.options import ExternalStatePolicy

from detloader.adapters.tensorflow.batching import batching_of, is_made_of_batches
from detloader.adapters.tensorflow.memory import bytes_in
from detloader.adapters.tensorflow.shuffles import declare_shuffles
from detloader.adapters.walk import bottom_up, each_once

__all__ = ["declare", "is_batched"]

_HAVE_ROWS = frozenset({tf.TensorSpec, tf.RaggedTensorSpec, tf.SparseTensorSpec})


def is_batched(dataset: tf.data.Dataset) -> bool:
    """Tell whether an element is a batch: it was batched, and each part with data has rows."""
    if not is_made_of_batches(dataset):
        return False
    parts = [part for part in tf.nest.flatten(dataset.element_spec) if _has_data(part)]
    return bool(parts) and all(type(part) in _HAVE_ROWS and part.shape.rank for part in parts)


def _has_data(part: Any) -> bool:
    """Tell whether a part consists of tensors: None, where an element has it, does not."""
    return bool(tf.nest.flatten(part, expand_composites=True))


def declare(dataset: tf.data.Dataset) -> dict[str, Any]:
    """Return the declared fields that operations tell; what they do not stays unknown."""
    declared = declare_shuffles(dataset)
    batch_size, drop_remainder = batching_of(dataset)
    told = {
        "batch_size": batch_size,
        "drop_remainder": drop_remainder,
        "deterministic": _determinism(dataset),
    }
    return declared | {name: value for name, value in told.items() if value is not None}


_ORDERED_BY_OTHERS = frozenset({"DataServiceDataset", "GeneratorDataset"})
"""Operations whose order is that of a program, or of a service, which no graph tells."""


def _determinism(dataset: tf.data.Dataset) -> bool | None:
    """Tell whether the order is kept: as was chosen for all operations, or as they tell."""
    chosen: bool | None = dataset.options().deterministic
    if chosen is False:
        return False
    operations = _operations(dataset)
    if operations is None:
        nodes = each_once(dataset, lambda node: node._inputs())
        given_up = any(getattr(node, "_deterministic", None) == "false" for node in nodes)
        return False if given_up else chosen
    if any(operation.attr["deterministic"].s == b"false" for operation in operations):
        return False
    kinds = {re.sub(r"V\d+$", "", operation.op) for operation in operations}
    return True if kinds.isdisjoint(_ORDERED_BY_OTHERS) else chosen


_OF_AN_OPERATION = 400
"""Bytes that the graph has for an operation without data, on the whole."""

_MOST_BYTES = 4 * 2**20
"""Of data in memory, as the names of files are, that a graph may hold and is read all the same."""


def _bytes_of_graph(dataset: tf.data.Dataset) -> float:
    """Estimate how long the written graph is: it holds all data that lies in memory.

    A dataset that is the input of several is written for each of them.
    """
    sizes: dict[int, float] = {}
    for node in bottom_up(dataset, lambda node: node._inputs()):
        behind = sum(sizes[id(each)] for each in node._inputs())
        sizes[id(node)] = _OF_AN_OPERATION + bytes_in(node) + behind
    return sizes[id(dataset)]


def _operations(dataset: tf.data.Dataset) -> list[Any] | None:
    """Return the operations of a dataset and of its functions; None where none can be read."""
    if not tf.executing_eagerly() or _bytes_of_graph(dataset) > _MOST_BYTES:
        return None
    try:
        written = dataset._as_serialized_graph(external_state_policy=ExternalStatePolicy.IGNORE)
    except tf.errors.OpError:  # Some, as that of a custom operation, have no graph to write.
        return None
    graph = GraphDef.FromString(written.numpy())
    within = [operation for made in graph.library.function for operation in made.node_def]
    return [*graph.node, *within]
