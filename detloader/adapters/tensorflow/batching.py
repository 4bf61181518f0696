"""Which operations made the elements of a TensorFlow dataset batches.

They stand in the chain of datasets, or in the function that one of them was given, as of
`interleave` or `bucket_by_sequence_length`, where they are operations of its graph.
"""

# TensorFlow offers no way to ask its operations, so this module reads their private fields.
# ruff: noqa: SLF001

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from detloader.adapters.tensorflow.operations import kind_of, value_of
from detloader.adapters.walk import each_once

__all__ = ["batching_of", "is_made_of_batches"]


_BATCHES = frozenset(
    {
        "BatchDataset",
        "MapAndBatchDataset",
        "PaddedBatchDataset",
        "ParallelBatchDataset",
        "RebatchDataset",
    }
)

_MAKE_DATASETS = frozenset(
    {"FlatMapDataset", "GroupByWindowDataset", "InterleaveDataset", "ParallelInterleaveDataset"}
)
"""Operations whose elements are those of the datasets that their functions return."""

_KEEP_BATCHES = frozenset(
    {
        "AssertCardinalityDataset",
        "CacheDataset",
        "ConcatenateDataset",
        "DirectedInterleaveDataset",
        "FilterDataset",
        "Identity",
        "IgnoreErrorsDataset",
        "MapDataset",
        "OptionsDataset",
        "ParallelMapDataset",
        "PrefetchDataset",
        "RepeatDataset",
        "ScanDataset",
        "ShardDataset",
        "ShuffleAndRepeatDataset",
        "ShuffleDataset",
        "SkipDataset",
        "TakeDataset",
        "TakeWhileDataset",
        "ZipDataset",
    }
)
"""Operations whose elements are batches where those that they get are."""


def is_made_of_batches(dataset: tf.data.Dataset) -> bool:
    """Tell whether each element was batched, wherever it comes from."""
    return None not in _batchings(dataset)


def batching_of(dataset: tf.data.Dataset) -> tuple[int | None, bool | None]:
    """Return batch size and whether remainders are dropped; None where nobody says it of all."""
    found = _batchings(dataset)
    if len(found) > 1 or not isinstance(found[0], tf.data.Dataset):
        # Each that a function makes has a remainder of its own.
        return None, None
    size, drop = (_first_field(found[0], *names) for names in (_SIZES, _DROPS))
    return value_of(size), value_of(drop)


def _batchings(dataset: Any) -> list[Any]:
    """Return what batched the elements: datasets or operations, None for what is no batch."""
    nodes = each_once(dataset, _sources)
    return [node if kind_of(node) in _BATCHES else None for node in nodes if not _sources(node)]


def _sources(node: Any) -> list[Any]:
    """Return where elements come from that are batches if those are; none where it ends."""
    kind = kind_of(node)
    if kind in _MAKE_DATASETS:
        graph = None if _takes_windows(node) else _graph_of_function(node)
        return [] if graph is None else [graph.outputs[0].op]
    if kind not in _KEEP_BATCHES:
        return []
    inputs = list(_inputs(node))
    # The first one says which of the others is next.
    return inputs[1:] if kind == "DirectedInterleaveDataset" else inputs


def _takes_windows(node: Any) -> bool:
    """Tell whether a function is given windows: what it batches of one may be one sample."""
    if isinstance(node, tf.Operation):
        return False
    (given,) = node._inputs()
    specs = tf.nest.flatten(given.element_spec)
    return any(isinstance(spec, tf.data.DatasetSpec) for spec in specs)


def _inputs(node: Any) -> Sequence[Any]:
    if isinstance(node, tf.Operation):
        return [given.op for given in node.inputs if given.dtype == tf.variant]
    found: Sequence[Any] = node._inputs()
    return found


def _graph_of_function(node: Any) -> Any | None:
    """Return the graph of the function that makes datasets; None where there is none to read."""
    if isinstance(node, tf.Operation):
        name = "reduce_func" if kind_of(node) == "GroupByWindowDataset" else "f"
        return getattr(node.graph._get_function(node.get_attr(name).name), "graph", None)
    function = getattr(node, "_reduce_func", None) or node._map_func
    return getattr(function.function, "graph", None)


_SIZES = "_batch_size", "_batch_size_t", "_batch_sizes"

_DROPS = "_drop_remainder", "_drop_remainder_t"


def _first_field(node: Any, *names: str) -> Any:
    return next((vars(node)[name] for name in names if name in vars(node)), None)
