"""What the graph of a TensorFlow dataset says of itself, where it can be read."""

# TensorFlow offers no way to ask its operations, so this module reads their private fields.
# ruff: noqa: SLF001

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf
from tensorflow.core.framework.graph_pb2 import GraphDef
from tensorflow.python.data.ops.options import ExternalStatePolicy

__all__ = ["declare", "is_batched"]

_BATCHES = frozenset({"_BatchDataset", "_ParallelBatchDataset", "_PaddedBatchDataset"})

_AFTER_BATCHES = frozenset(
    {
        "CacheDataset",
        "RepeatDataset",
        "SkipDataset",
        "TakeDataset",
        "_MapDataset",
        "_OptionsDataset",
        "_ParallelMapDataset",
        "_PrefetchDataset",
        "_RepeatDataset",
        "_ShuffleDataset",
        "_SkipDataset",
        "_TakeDataset",
    }
)
"""Operations whose elements are batches where those that they get are."""

_HAVE_ROWS = frozenset({tf.TensorSpec, tf.RaggedTensorSpec, tf.SparseTensorSpec})


def is_batched(dataset: tf.data.Dataset) -> bool:
    """Tell whether an element is a batch: it was batched, and each part of it has rows."""
    if _batching(dataset) is None:
        return False
    parts = tf.nest.flatten(dataset.element_spec)
    return bool(parts) and all(type(part) in _HAVE_ROWS and part.shape.rank for part in parts)


def declare(dataset: tf.data.Dataset) -> dict[str, Any]:
    """Return the declared fields that operations tell; what they do not stays unknown."""
    shuffles = [_shuffle(node) for node in _chain(dataset) if _kind(node) == "_ShuffleDataset"]
    declared: dict[str, Any] = {}
    if shuffles:
        declared |= {"shuffle": True, "config": {"shuffle": shuffles}}
        seeds = [shuffle["seeds"][1] for shuffle in shuffles if any(shuffle["seeds"])]
        if len(seeds) == 1:
            declared["seed"] = seeds[0]
    if (batching := _batching(dataset)) is not None:
        declared["batch_size"] = _value(batching._batch_size)
        declared["drop_remainder"] = _value(batching._drop_remainder)
    declared["deterministic"] = _determinism(dataset)
    return {name: value for name, value in declared.items() if value is not None}


def _determinism(dataset: tf.data.Dataset) -> bool | None:
    """Tell what was chosen for all operations, or for one that gives its order up."""
    chosen: bool | None = dataset.options().deterministic
    if chosen is not None:
        return chosen
    nodes = list(_tree(dataset))
    if any(getattr(node, "_deterministic", None) == "false" for node in nodes):
        return False
    kinds = {_kind(node) for node in nodes}
    # An interleave tells its graph alone, and a graph holds all data that lies in memory.
    if "_ParallelInterleaveDataset" in kinds and not kinds & _IN_MEMORY:
        return False if _gives_order_up(dataset) else None
    return None


_IN_MEMORY = frozenset({"_TensorDataset", "_TensorSliceDataset"})


def _gives_order_up(dataset: tf.data.Dataset) -> bool:
    graph = GraphDef.FromString(
        dataset._as_serialized_graph(external_state_policy=ExternalStatePolicy.IGNORE).numpy()
    )
    return any(node.attr["deterministic"].s == b"false" for node in graph.node)


def _tree(dataset: tf.data.Dataset) -> Iterator[Any]:
    """Yield all operations, each before its inputs."""
    yield dataset
    for node in dataset._inputs():
        yield from _tree(node)


def _chain(dataset: tf.data.Dataset) -> Iterator[Any]:
    """Yield the operations from the outermost on, as far as each has one input."""
    node: Any = dataset
    while True:
        yield node
        inputs = node._inputs()
        if len(inputs) != 1:
            return
        node = inputs[0]


def _batching(dataset: tf.data.Dataset) -> Any | None:
    for node in _chain(dataset):
        if _kind(node) in _BATCHES:
            return node
        if _kind(node) not in _AFTER_BATCHES:
            return None
    return None


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
