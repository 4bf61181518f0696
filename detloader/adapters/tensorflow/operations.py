"""Operations of a TensorFlow dataset, and of the functions that it calls.

A function is a graph, which can be read without running it.
"""

# TensorFlow offers no way to ask its operations, so this module reads their private fields.
# ruff: noqa: SLF001

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from detloader.adapters.walk import each_once

__all__ = [
    "Behind",
    "Operation",
    "chain_of",
    "constant",
    "graphs_of",
    "kind_of",
    "named",
    "of_dataset",
    "value_of",
    "within",
    "without_version",
]

T = TypeVar("T")


class Operation(NamedTuple):
    """An operation, be it a dataset or one of the graph of a function.

    Attributes:
        kind: its type, without a version.
        arguments: single values that it was given, by name; None where one is no constant.
    """

    kind: str
    arguments: Mapping[str, Any]


class Behind(NamedTuple):
    """Operations behind a dataset that are in no chain of Python's objects.

    Attributes:
        datasets: of datasets.
        functions: of each function those that decide an order or draw.
    """

    datasets: list[Operation]
    functions: list[list[Operation]]


def chain_of(dataset: Any) -> Iterator[Any]:
    """Yield a dataset and all that are behind it in Python, each of them once."""
    return each_once(dataset, lambda node: node._inputs())


def kind_of(node: Any) -> str:
    """Return the type of a dataset, or of an operation of a graph, without its version."""
    return without_version(node.type if isinstance(node, tf.Operation) else type(node).__name__)


def without_version(name: str) -> str:
    """Return the name of a type of operations, or of a class of datasets, without its version."""
    return re.sub(r"V\d+$", "", name.lstrip("_"))


def of_dataset(dataset: Any) -> Operation:
    """Return the operation that a dataset is."""
    fields = {name.lstrip("_"): value for name, value in vars(dataset).items()}
    flags = {name: value for name, value in fields.items() if isinstance(value, bool)}
    values = {name: value_of(each) for name, each in fields.items() if isinstance(each, tf.Tensor)}
    return Operation(kind_of(dataset), values | flags)


def within(dataset: Any) -> Iterator[list[Operation]]:
    """Yield what orders or draws in each of a dataset's functions, and in those that they call."""
    for graph in graphs_of(dataset):
        for each in each_once(graph, _graphs_called):
            told = (
                operation for operation in each.get_operations() if _type(operation.type).is_told
            )
            yield [*map(_of_graph, told)]


def graphs_of(node: Any) -> list[Any]:
    """Return the graphs of the functions of a dataset, or of an operation of a graph."""
    if isinstance(node, tf.Operation):
        functions = [node.graph._get_function(name) for name in _functions_called(node)]
    else:
        functions = [function.function for function in node._functions()]
    graphs = [getattr(function, "graph", None) for function in functions]
    return [graph for graph in graphs if graph is not None]


def named(kind: str, inputs: Sequence[T]) -> list[tuple[str, T]]:
    """Return the inputs of an operation, each with its name; one of them may be a list."""
    definition = op_def_registry.get(kind)
    arguments = [] if definition is None else definition.input_arg
    more = len(inputs) - len(arguments)
    names: list[str] = []
    for each in arguments:
        is_list = each.number_attr or each.type_list_attr
        names += [each.name] * (1 + more if is_list else 1)
    return [*zip(names, inputs, strict=False)]


def value_of(tensor: Any) -> Any:
    """Return a single value that is a constant; None where it is none, or are several."""
    found = None if tensor is None else constant(tensor)
    if found is None or found.shape.num_elements() != 1:
        return None
    value = tf.get_static_value(found)
    return None if value is None else value.item()


def constant(tensor: Any) -> Any | None:
    """Return where a tensor of numbers comes from, be it outside of the graph; None if unknown."""
    if tensor.dtype in _NO_NUMBERS:
        return None
    if not tf.is_symbolic_tensor(tensor):
        return tensor
    if tensor.op.type == "Placeholder":
        captures = getattr(tensor.graph, "captures", ())
        outside = next((outer for outer, inner in captures if inner is tensor), None)
        return None if outside is None else constant(outside)
    return _chosen(tensor.op) if tensor.op.type == "SelectV2" else tensor


_NO_NUMBERS = frozenset({tf.variant, tf.resource, tf.string})


def _chosen(select: Any) -> Any | None:
    """Return what a choice by constants comes to: so TensorFlow replaces a pair of zeros."""
    condition, if_true, if_false = select.inputs
    if condition.op.type != "LogicalAnd":
        return None
    told = [tf.get_static_value(each) for each in condition.op.inputs]
    if any(each is not None and not each for each in told):
        return constant(if_false)
    return None if None in told else constant(if_true)


_ORDER = frozenset(
    {
        "InterleaveDataset",
        "LegacyParallelInterleaveDataset",
        "ParallelInterleaveDataset",
        "RandomDataset",
        "ShuffleAndRepeatDataset",
        "ShuffleDataset",
    }
)

_SEEDS = frozenset({"seed", "seed2"})


class _Type(NamedTuple):
    """What the definition of a type of operations says.

    Attributes:
        is_told: whether it decides an order, or has seeds.
        numbers: attributes that are single numbers.
        function: attributes that are a function each.
        functions: those that are several.
    """

    is_told: bool
    numbers: list[str]
    function: list[str]
    functions: list[str]

    @property
    def calls(self) -> bool:
        """Tell whether it calls functions."""
        return bool(self.function or self.functions)


@functools.cache
def _type(name: str) -> _Type:
    definition = op_def_registry.get(name)
    attributes = () if definition is None else definition.attr
    by_type = {kind: [each.name for each in attributes if each.type == kind] for kind in _KINDS}
    is_told = without_version(name) in _ORDER or {*by_type["int"]} >= _SEEDS
    numbers = [*by_type["int"], *by_type["bool"]]
    return _Type(is_told, numbers, by_type["func"], by_type["list(func)"])


_KINDS = "int", "bool", "func", "list(func)"


def _of_graph(operation: Any) -> Operation:
    inputs = {name: value_of(each) for name, each in named(operation.type, [*operation.inputs])}
    numbers = {name: operation.get_attr(name) for name in _type(operation.type).numbers}
    return Operation(kind_of(operation), inputs | numbers)


def _graphs_called(graph: Any) -> list[Any]:
    calling = [each for each in graph.get_operations() if _type(each.type).calls]
    return [called for operation in calling for called in graphs_of(operation)]


def _functions_called(operation: Any) -> list[str]:
    kind = _type(operation.type)
    several = [operation.get_attr(name) for name in kind.functions]
    single = [operation.get_attr(name) for name in kind.function]
    return [function.name for function in itertools.chain(single, *several)]
