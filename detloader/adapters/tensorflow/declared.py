"""What the graph of a TensorFlow dataset says of itself, where it can be read."""

# TensorFlow offers no way to ask its operations, so this module reads their private fields.
# ruff: noqa: SLF001

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import tensorflow as tf
from tensorflow.core.framework.graph_pb2 import GraphDef
from tensorflow.python.data.ops.options import ExternalStatePolicy

from detloader.adapters.tensorflow.batching import batching_of, is_made_of_batches
from detloader.adapters.tensorflow.walk import each_once

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
    shuffles = [_shuffle(node) for node in _chain(dataset) if _kind(node) == "_ShuffleDataset"]
    declared: dict[str, Any] = {}
    if shuffles:
        declared |= {"shuffle": True, "config": {"shuffle": shuffles}}
        seeds = [shuffle["seeds"][1] for shuffle in shuffles if any(shuffle["seeds"])]
        if len(seeds) == 1:
            declared["seed"] = seeds[0]
    declared["batch_size"], declared["drop_remainder"] = batching_of(dataset)
    declared["deterministic"] = _determinism(dataset)
    return {name: value for name, value in declared.items() if value is not None}


def _determinism(dataset: tf.data.Dataset) -> bool | None:
    """Tell what was chosen for all operations, or for one that gives its order up."""
    chosen: bool | None = dataset.options().deterministic
    if chosen is not None:
        return chosen
    nodes = list(each_once(dataset, lambda node: node._inputs()))
    if any(getattr(node, "_deterministic", None) == "false" for node in nodes):
        return False
    kinds = {_kind(node) for node in nodes}
    # An interleave tells its graph alone, and a graph holds all data that lies in memory.
    if "_ParallelInterleaveDataset" not in kinds or sum(map(_bytes_in, nodes)) > _MOST_BYTES:
        return None
    return False if _gives_order_up(dataset) else None


_IN_MEMORY = frozenset({"_TensorDataset", "_TensorSliceDataset"})

_MOST_BYTES = 4 * 2**20
"""Of data in memory, as the names of files are, that a graph may hold and is read all the same."""


def _bytes_in(node: Any) -> float:
    """Return how many bytes of data a dataset holds; infinity where nobody knows."""
    return sum(map(_bytes_of, node._tensors)) if _kind(node) in _IN_MEMORY else 0


def _bytes_of(tensor: Any) -> float:
    if tf.is_symbolic_tensor(tensor) or tensor.dtype == tf.variant:
        return math.inf
    if tensor.dtype == tf.string:
        lengths = tf.strings.length(tensor)
        return float(tf.reduce_sum(tf.cast(lengths, tf.float64)))
    return float(math.prod(tensor.shape) * tensor.dtype.size)


def _gives_order_up(dataset: tf.data.Dataset) -> bool:
    graph = GraphDef.FromString(
        dataset._as_serialized_graph(external_state_policy=ExternalStatePolicy.IGNORE).numpy()
    )
    return any(node.attr["deterministic"].s == b"false" for node in graph.node)


def _chain(dataset: tf.data.Dataset) -> Iterator[Any]:
    """Yield the operations from the outermost on, as far as each has one input."""
    node: Any = dataset
    while True:
        yield node
        inputs = node._inputs()
        if len(inputs) != 1:
            return
        node = inputs[0]


def _shuffle(node: Any) -> dict[str, Any]:
    return {
        "buffer_size": _value(node._buffer_size),
        "seeds": [_value(node._seed), _value(node._seed2)],
        "reshuffle_each_iteration": bool(node._reshuffle_each_iteration),
    }


def _kind(node: Any) -> str:
    return type(node).__name__


def _value(tensor: Any) -> Any:
    """Return a constant of the graph; None where it is none."""
    value = tf.get_static_value(tensor)
    return None if value is None else value.item()
