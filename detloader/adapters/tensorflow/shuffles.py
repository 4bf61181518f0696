"""Which shuffles put the elements of a TensorFlow dataset in order, and what seeds them."""

# TensorFlow offers no way to ask its operations, so this module reads their private fields.
# ruff: noqa: SLF001

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from detloader.adapters.tensorflow.operations import (
    Behind,
    kind_of,
    of_dataset,
    value_of,
)
from detloader.adapters.tensorflow.seeds import (
    Drawing,
    declare_seed,
    drawing_in_chain,
    drawing_in_function,
)
from detloader.adapters.walk import bottom_up, each_once

__all__ = ["declare_shuffles"]

_SHUFFLES = frozenset({"ShuffleDataset", "ShuffleAndRepeatDataset"})

_MAKE_SEVERAL = frozenset(
    {"FlatMapDataset", "InterleaveDataset", "ParallelInterleaveDataset", "UnbatchDataset"}
)
"""Operations that make several elements of one, as of the name of a file its lines."""

_AT_ONCE = "RandomShuffle"
"""Operation that shuffles a tensor: that of an epoch's indices in Keras's `fit`."""

_RESHUFFLES = "reshuffle_each_iteration"


def declare_shuffles(dataset: tf.data.Dataset, behind: Behind) -> dict[str, Any]:
    """Return the declared fields that shuffles tell, and the seeds of what else draws.

    Args:
        dataset: what is recorded.
        behind: operations behind it that are in no chain.
    """
    nodes = list(each_once(dataset, _inputs))
    functions = [drawing for each in behind.functions for drawing in drawing_in_function(each)]
    others = [*drawing_in_chain(behind.datasets), *functions]
    drawing = [node for node in nodes if hasattr(node, "_seed2")]
    config = _shown([*drawing_in_chain(map(of_dataset, drawing)), *others])
    chain = drawing_in_chain(of_dataset(node) for node in drawing if _decides(node))
    deciding = [*chain, *filter(_can_order, others)]
    # Where there is nothing else, a function puts into order what it has as one element.
    at_once = [each for each in functions if each.operation.kind == _AT_ONCE]
    declared = declare_seed(deciding or at_once)
    config |= declared.pop("config", {})
    ordering = _ordering(dataset)
    whole = {id(node) for node in each_once(dataset, _inputs_one_by_one)}
    # Of how many parts another order is, nobody knows of the others.
    known = [node for node in ordering if id(node) in whole or _elements(node) is not None]
    if known:
        declared["shuffle"] = True
        config |= _iterations(known, whole)
    return declared | ({"config": config} if config else {})


def _shown(drawing: Sequence[Drawing]) -> dict[str, Any]:
    """Return the entries of a configuration that show what draws."""
    shuffles = [
        {
            "buffer_size": each.operation.arguments.get("buffer_size"),
            "seeds": [*each.seeds],
            "reshuffle_each_iteration": each.operation.arguments.get(_RESHUFFLES, True),
        }
        for each in drawing
        if each.operation.kind in _SHUFFLES
    ]
    others = [[*each.seeds] for each in drawing if each.operation.kind not in _SHUFFLES]
    entries = {"shuffle": shuffles, "random": others}
    return {name: entry for name, entry in entries.items() if entry}


def _iterations(shuffles: Sequence[Any], whole: set[int]) -> dict[str, Any]:
    """Return whether iterations have other orders, and of how few parts where that is known."""
    again = [node for node in shuffles if _reshuffles(node)]
    config: dict[str, Any] = {"reshuffle_each_iteration": bool(again)}
    if again and not any(id(node) in whole for node in again):
        config["shuffled_elements"] = max(_elements(node) or 0 for node in again)
    return config


def _ordering(dataset: Any) -> list[Any]:
    """Return the shuffles that change the order; that of a part of each element is not one."""
    shuffled: set[int] = set()
    for node in bottom_up(dataset, _inputs):
        behind = [id(each) in shuffled for each in _inputs(node)]
        is_part = kind_of(node) == "ZipDataset" and not all(behind)
        if _mixes(node) or (any(behind) and not is_part):
            shuffled.add(id(node))
    found = each_once(dataset, lambda node: _inputs(node) if id(node) in shuffled else [])
    return [node for node in found if _mixes(node)]


def _inputs_one_by_one(node: Any) -> Sequence[Any]:
    """Return what is behind an operation if it has no elements but those, or zips them."""
    inputs = _inputs(node)
    is_part = len(inputs) > 1 and kind_of(node) != "ZipDataset"
    return [] if is_part or kind_of(node) in _MAKE_SEVERAL else inputs


def _mixes(node: Any) -> bool:
    """Tell whether a node is a shuffle that can change an order."""
    return (
        kind_of(node) in _SHUFFLES
        and value_of(node._buffer_size) != 1
        and _elements(node) not in {0, 1}
    )


def _decides(node: Any) -> bool:
    return kind_of(node) == "RandomDataset" or _mixes(node)


def _can_order(drawing: Drawing) -> bool:
    """Tell whether an operation of which no more is known can decide an order."""
    kind, arguments = drawing.operation
    return kind == "RandomDataset" or (kind in _SHUFFLES and arguments.get("buffer_size") != 1)


def _elements(shuffle: Any) -> int | None:
    """Return how many elements are shuffled; None where nobody knows, or where it is no end."""
    (given,) = _inputs(shuffle)
    count: int | None = value_of(given.cardinality())
    return None if count is None or count < 0 else count


def _reshuffles(shuffle: Any) -> bool:
    return bool(of_dataset(shuffle).arguments.get(_RESHUFFLES, True))


def _inputs(node: Any) -> Sequence[Any]:
    """Return what is behind an operation; of a snapshot, what it stores beside its own numbers."""
    found: Sequence[Any] = node._inputs()
    if kind_of(node) != "SnapshotDataset" or kind_of(found[0]) != "ZipDataset":
        return found
    counter, *numbered = found[0]._inputs()
    return numbered if counter.element_spec == tf.TensorSpec([], tf.int64) else found
