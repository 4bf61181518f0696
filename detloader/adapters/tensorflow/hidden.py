"""Datasets that are behind a TensorFlow dataset, and in no chain of Python's objects.

A function took them from outside, or `choose_from_datasets` chooses by them. They are in the
graph that TensorFlow writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import tensorflow as tf
from tensorflow.core.framework.graph_pb2 import GraphDef

from detloader.adapters.tensorflow.operations import Operation, named, without_version
from detloader.adapters.walk import each_once

__all__ = ["operations_in", "taken_in"]

_TAKEN = "other_arguments"
"""How the inputs end that an operation hands on to its function."""


def taken_in(graph: GraphDef) -> Iterator[Operation]:
    """Yield the operations of datasets that functions took from outside."""
    nodes = {node.name: node for node in graph.node}
    inputs = {node.name: _inputs(node, nodes) for node in graph.node}
    taken = [
        behind
        for each in inputs.values()
        for name, behind in each
        if name.endswith(_TAKEN) and behind.op != "Const"
    ]
    found = {
        each.name: each
        for node in taken
        for each in each_once(node, lambda node: [behind for _, behind in inputs[node.name]])
    }
    yield from (_operation(each, inputs[name]) for name, each in found.items())


def operations_in(graph: GraphDef) -> Iterator[Operation]:
    """Yield all operations but those of functions."""
    nodes = {node.name: node for node in graph.node}
    yield from (_operation(node, _inputs(node, nodes)) for node in graph.node)


def _operation(node: Any, inputs: list[tuple[str, Any]]) -> Operation:
    values = {name: _value(behind) for name, behind in inputs}
    flags = {name: value.b for name, value in node.attr.items() if value.HasField("b")}
    return Operation(without_version(node.op), values | flags)


def _inputs(node: Any, nodes: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return what a node is given, with the names of its inputs."""
    given = [name.split(":")[0] for name in node.input if not name.startswith("^")]
    return [(name, nodes[each]) for name, each in named(node.op, given) if each in nodes]


def _value(node: Any) -> Any:
    """Return a number that is a constant; None where it is none, or are several."""
    tensor = node.attr["value"].tensor
    if node.op != "Const" or tf.as_dtype(tensor.dtype) in {tf.variant, tf.resource, tf.string}:
        return None
    array = tf.make_ndarray(tensor)
    return array.item() if array.size == 1 else None
