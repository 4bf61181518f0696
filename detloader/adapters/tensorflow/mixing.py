"""How a TensorFlow dataset takes its elements from several datasets in turn."""

# TensorFlow offers no way to ask its operations, so this module reads their private fields.
# ruff: noqa: SLF001

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework.graph_pb2 import GraphDef

from detloader.adapters.tensorflow.operations import (
    Behind,
    Operation,
    chain_of,
    constant,
    graphs_of,
    kind_of,
    of_dataset,
    value_of,
)
from detloader.adapters.tensorflow.written import written
from detloader.manifest.content import sample_digest
from detloader.tensorflow.parts import MERGED

__all__ = ["choices_of", "declare_mixing"]

_INTERLEAVES = frozenset(
    {"InterleaveDataset", "LegacyParallelInterleaveDataset", "ParallelInterleaveDataset"}
)

_DIGITS = 6
"""Of weights, whose logarithms in single precision TensorFlow keeps."""

_MOST_CHOICES = 2**22
"""Elements of a dataset that is chosen by, each of which may lie in memory."""

_SHOWN = 16
"""Numbers of a constant that are told themselves."""

_WITHOUT_MEANING = frozenset(
    {"Const", "DummySeedGenerator", "Identity", "NoOp", "RewriteDataset", "_Retval"}
)


def choices_of(dataset: tf.data.Dataset) -> list[GraphDef]:
    """Return the graphs of the datasets that are chosen by, as far as they can be read."""
    chosen = [each for each in _selectors(dataset) if _draw(each) is None and _is_short(each)]
    return [graph for each in chosen if (graph := written(each)) is not None]


def declare_mixing(
    dataset: tf.data.Dataset, behind: Behind, choices: Iterable[GraphDef]
) -> dict[str, Any]:
    """Return the entries of a configuration that tell it, named as the methods of datasets are.

    Args:
        dataset: what is recorded.
        behind: operations behind it that are in no chain.
        choices: what `choices_of` returned.
    """
    draws = [draw for each in _selectors(dataset) if (draw := _draw(each)) is not None]
    operations = itertools.chain(_interleaves(dataset), *behind.functions, behind.datasets)
    entries = {
        "interleave": [_turns(each) for each in operations if each.kind in _INTERLEAVES],
        "sample_from_datasets": [*map(_weights, draws)],
        "choose_from_datasets": [[*_steps(graph)] for graph in choices],
    }
    return {name: entry for name, entry in entries.items() if entry}


def _selectors(dataset: tf.data.Dataset) -> list[Any]:
    """Return the datasets whose elements say from which of several the next one is taken."""
    directed = (each for each in chain_of(dataset) if kind_of(each) == "DirectedInterleaveDataset")
    return [each._inputs()[0] for each in directed]


def _interleaves(dataset: tf.data.Dataset) -> list[Operation]:
    # One that reads files is made of another one, which reads several in turn.
    made = (vars(node).get("_impl", node) for node in chain_of(dataset))
    found = [node for node in made if kind_of(node) in _INTERLEAVES]
    return [of_dataset(node) for node in found if getattr(node, "_name", None) != MERGED]


def _turns(interleave: Operation) -> dict[str, Any]:
    """Return how many datasets take turns, and how long each is; None where TensorFlow chooses."""
    told = {name: interleave.arguments.get(name) for name in ("cycle_length", "block_length")}
    return {name: None if value == tf.data.AUTOTUNE else value for name, value in told.items()}


def _draw(selector: Any) -> Any | None:
    """Return the operation that draws which dataset is next; None where another one tells it."""
    operations = (each for graph in graphs_of(selector) for each in graph.get_operations())
    return next((each for each in operations if each.type == "StatelessMultinomial"), None)


def _weights(draw: Any) -> list[float] | None:
    """Return the weights of datasets, as shares of one; None where they are no constants."""
    given = constant(draw.inputs[0])
    logits = None if given is None else tf.get_static_value(given)
    if logits is None:
        return None
    weights = np.exp(np.asarray(logits[0], np.float64))
    if not 0 < weights.sum() < np.inf:
        return None
    shares: list[float] = (weights / weights.sum()).round(_DIGITS).tolist()
    return shares


def _is_short(selector: Any) -> bool:
    """Tell whether its graph may be written, which has a copy of what lies in memory."""
    return (value_of(selector.cardinality()) or 0) <= _MOST_CHOICES


def _steps(graph: GraphDef) -> Iterator[str]:
    """Yield the operations of a dataset and of its functions, each with the numbers it got."""
    functions = sorted(graph.library.function, key=_number)
    for nodes in [graph.node, *(function.node_def for function in functions)]:
        constants = {node.name: node.attr["value"].tensor for node in nodes if node.op == "Const"}
        for node in nodes:
            if node.op not in _WITHOUT_MEANING:
                given = (constants.get(name.split(":")[0]) for name in node.input)
                told = [_shown(each) for each in given if each is not None]
                seeds = [str(node.attr[name].i) for name in ("seed", "seed2") if name in node.attr]
                yield f"{node.op}({', '.join(filter(None, [*told, *seeds]))})"


def _number(function: Any) -> int:
    """Return the place of a function among those that were traced, which its name ends in."""
    found = re.search(r"\d+$", function.signature.name)
    return int(found[0]) if found else 0


def _shown(tensor: Any) -> str | None:
    """Return the numbers of a constant, or their digest; None where it has none."""
    if tf.as_dtype(tensor.dtype) in {tf.variant, tf.resource, tf.string}:
        return None
    array = tf.make_ndarray(tensor)
    if array.size <= _SHOWN:
        return str(array.tolist())
    return f"{array.size} numbers, digest {sample_digest(array):016x}"
