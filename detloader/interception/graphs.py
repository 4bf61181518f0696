"""Datasets that TensorFlow iterates by itself, within the graph of a function."""

# TensorFlow offers no way to ask where a dataset stands, so this module reads private fields.
# ruff: noqa: SLF001

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from weakref import WeakSet

from detloader.interception.places import place_of_caller
from detloader.interception.session import current_session
from detloader.interception.twins import twin_of

__all__ = ["distributed_in", "is_loop", "iterated_in", "note_loop"]

_WITHIN_DATASET = re.compile(r"(Dataset|tf_data|reduce)_(?!scan_scan_body)")
"""Graphs of functions that datasets call; but that of a loop in Python's words is its body."""


def iterated_in(dataset: Any) -> Any:
    """Return what is to be iterated in a dataset's place; itself where it is not recorded.

    A function is traced once, and called often. So what stands in its graph is looked up at
    each call: the twin while there is a session, and the dataset itself after it.
    """
    import tensorflow as tf

    session = current_session()
    if session is None:
        return dataset
    if tf.executing_eagerly():
        return twin_of(dataset) or dataset
    graphs = [*_functions()]
    if not graphs or any(_WITHIN_DATASET.match(graph.name) for graph in graphs):
        return dataset
    if not tf.is_symbolic_tensor(dataset._variant_tensor):
        with graphs[-1].as_default():
            return graphs[-1].capture_call_time_value(
                lambda: twin_of(dataset) or dataset,
                tf.data.DatasetSpec.from_value(dataset),
                key=("detloader", id(dataset)),
            )
    from detloader.adapters.walk import each_once

    if not any(map(_is_argument, each_once(dataset, lambda node: node._inputs()))):
        session.refuse(
            f"a dataset within a tf.function, which {place_of_caller()} calls: it was made there; "
            "make it outside, and give it to the function"
        )
    return dataset


def distributed_in(distributed: Any) -> Any | None:
    """Return what is to be iterated in a distributed dataset's place; None where it is itself.

    In the graph of a function, who hears of it is looked up at each call, as above.
    """
    import tensorflow as tf

    from detloader.adapters.distribution import parts_of, source_of

    session = current_session()
    graphs = [] if tf.executing_eagerly() else [*_functions()]
    if session is None or any(_WITHIN_DATASET.match(graph.name) for graph in graphs):
        return None
    if any(tf.is_symbolic_tensor(part._variant_tensor) for part in parts_of(distributed)):
        session.refuse(
            f"a distributed dataset within a tf.function, which {place_of_caller()} calls: make it "
            "outside, and give it to the function, which may have no input_signature"
        )
        return None
    twin = twin_of(distributed, made_from=source_of(distributed))
    if twin is None or not graphs:
        return twin
    from detloader.adapters.tensorflow.distributed_twins import TellingDistributed

    def key() -> Any:
        known = twin_of(distributed, made_from=source_of(distributed))
        return tf.constant(-1 if known is None else known.key, tf.int64)

    with graphs[-1].as_default():
        told = graphs[-1].capture_call_time_value(
            key, tf.TensorSpec([], tf.int64), key=("detloader", id(distributed))
        )
    return TellingDistributed(distributed, told)


def note_loop(scan: Any) -> None:
    """Remember what TensorFlow made of a loop in Python's words."""
    _loops.add(scan)


def is_loop(dataset: Any) -> bool:
    """Tell whether this is such a loop: what it runs over has been replaced already."""
    return any(node in _loops for node in (dataset, *dataset._inputs()))


_loops: WeakSet[Any] = WeakSet()


def _functions() -> Iterator[Any]:
    """Yield the graphs of functions that are being traced, from the innermost on."""
    import tensorflow as tf

    graph = tf.compat.v1.get_default_graph()
    while hasattr(graph, "capture_call_time_value"):
        yield graph
        graph = graph.outer_graph


def _is_argument(node: Any) -> bool:
    return type(node).__name__ == "_VariantDataset"
