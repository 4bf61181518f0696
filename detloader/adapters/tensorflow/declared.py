"""What the graph of a TensorFlow dataset says of itself, where it can be read."""

# TensorFlow offers no way to ask its operations, so this module reads their private fields.

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.core.framework.graph_pb2 import GraphDef

from detloader.adapters.tensorflow.batching import batching_of, is_made_of_batches
from detloader.adapters.tensorflow.hidden import operations_in, taken_in
from detloader.adapters.tensorflow.mixing import choices_of, declare_mixing
from detloader.adapters.tensorflow.operations import Behind, chain_of, within, without_version
from detloader.adapters.tensorflow.shuffles import declare_shuffles
from detloader.adapters.tensorflow.written import written

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
    graph = written(dataset)
    choices = choices_of(dataset)
    behind = _behind(dataset, graph, choices)
    declared = declare_shuffles(dataset, behind)
    config = declare_mixing(dataset, behind, choices) | declared.pop("config", {})
    batch_size, drop_remainder = batching_of(dataset)
    told = {
        "batch_size": batch_size,
        "drop_remainder": drop_remainder,
        "deterministic": _determinism(dataset, graph),
        "config": config or None,
    }
    return declared | {name: value for name, value in told.items() if value is not None}


def _behind(dataset: tf.data.Dataset, graph: GraphDef | None, choices: list[GraphDef]) -> Behind:
    datasets = [operation for choice in choices for operation in operations_in(choice)]
    if graph is not None:
        datasets += taken_in(graph)
    functions = [operations for node in chain_of(dataset) for operations in within(node)]
    return Behind(datasets, functions)


_ORDERED_BY_OTHERS = frozenset({"DataServiceDataset", "GeneratorDataset"})
"""Operations whose order is that of a program, or of a service, which no graph tells."""


def _determinism(dataset: tf.data.Dataset, graph: GraphDef | None) -> bool | None:
    """Tell whether the order is kept: as was chosen for all operations, or as they tell."""
    chosen: bool | None = dataset.options().deterministic
    if chosen is False:
        return False
    if graph is None:
        chain = chain_of(dataset)
        given_up = any(getattr(node, "_deterministic", None) == "false" for node in chain)
        return False if given_up else chosen
    within = [operation for made in graph.library.function for operation in made.node_def]
    operations = [*graph.node, *within]
    if any(operation.attr["deterministic"].s == b"false" for operation in operations):
        return False
    kinds = {without_version(operation.op) for operation in operations}
    return True if kinds.isdisjoint(_ORDERED_BY_OTHERS) else chosen
