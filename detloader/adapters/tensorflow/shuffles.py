"""Which shuffles put the elements of a TensorFlow dataset in order, and what seeds them."""

# TensorFlow offers no way to ask its operations, so this module reads their private fields.
# ruff: noqa: SLF001

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from detloader.adapters.walk import bottom_up, each_once

__all__ = ["declare_shuffles"]

_SHUFFLES = frozenset({"_ShuffleDataset", "_ShuffleAndRepeatDataset"})

_MAKE_SEVERAL = frozenset(
    {
        "ParallelInterleaveDataset",
        "_FlatMapDataset",
        "_InterleaveDataset",
        "_ParallelInterleaveDataset",
        "_UnbatchDataset",
    }
)
"""Operations that make several elements of one, as of the name of a file its lines."""

_UNSEEDED = 0, 0
"""What operations have where neither they nor TensorFlow as a whole were given a seed.

A seed of 0 is never this one: TensorFlow puts another pair in its place."""


def declare_shuffles(dataset: tf.data.Dataset) -> dict[str, Any]:
    """Return the declared fields that shuffles tell, and the seeds of what else draws."""
    nodes = list(each_once(dataset, _inputs))
    shuffles = [node for node in nodes if _kind(node) in _SHUFFLES]
    drawn = [node for node in nodes if _kind(node) == "_RandomDataset"]
    config: dict[str, Any] = {}
    if shuffles:
        config["shuffle"] = [_shown(node) for node in shuffles]
    if drawn:
        config["random"] = [_seeds(node) for node in drawn]
    declared = _seed([*filter(_mixes, shuffles), *drawn])
    ordering = _ordering(dataset)
    whole = {id(node) for node in each_once(dataset, _inputs_one_by_one)}
    # Of how many parts another order is, nobody knows of the others.
    known = [node for node in ordering if id(node) in whole or _elements(node) is not None]
    if known:
        declared["shuffle"] = True
        config |= _iterations(known, whole)
    return declared | ({"config": config} if config else {})


def _seed(nodes: Sequence[Any]) -> dict[str, Any]:
    """Return the one seed of all; none where one of them has none; nothing where they differ."""
    pairs = {tuple(_seeds(node)) for node in nodes}
    if _UNSEEDED in pairs:
        return {"seed": None}
    seed = pairs.pop()[1] if len(pairs) == 1 else None
    return {} if seed is None else {"seed": seed}


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
        is_part = _kind(node) == "_ZipDataset" and not all(behind)
        if _mixes(node) or (any(behind) and not is_part):
            shuffled.add(id(node))
    found = each_once(dataset, lambda node: _inputs(node) if id(node) in shuffled else [])
    return [node for node in found if _mixes(node)]


def _inputs_one_by_one(node: Any) -> Sequence[Any]:
    """Return what is behind an operation if it has no elements but those, or zips them."""
    inputs = _inputs(node)
    is_part = len(inputs) > 1 and _kind(node) != "_ZipDataset"
    return [] if is_part or _kind(node) in _MAKE_SEVERAL else inputs


def _mixes(node: Any) -> bool:
    """Tell whether a node is a shuffle that can change an order."""
    return (
        _kind(node) in _SHUFFLES
        and _value(node._buffer_size) != 1
        and _elements(node) not in {0, 1}
    )


def _elements(shuffle: Any) -> int | None:
    """Return how many elements are shuffled; None where nobody knows, or where it is no end."""
    (given,) = _inputs(shuffle)
    count: int | None = _value(given.cardinality())
    return None if count is None or count < 0 else count


def _shown(shuffle: Any) -> dict[str, Any]:
    return {
        "buffer_size": _value(shuffle._buffer_size),
        "seeds": _seeds(shuffle),
        "reshuffle_each_iteration": _reshuffles(shuffle),
    }


def _reshuffles(shuffle: Any) -> bool:
    return bool(getattr(shuffle, "_reshuffle_each_iteration", True))


def _seeds(node: Any) -> list[int | None]:
    """Return the seed of TensorFlow as a whole, or what stands for none, and the node's own."""
    return [_value(node._seed), _value(node._seed2)]


def _inputs(node: Any) -> Sequence[Any]:
    found: Sequence[Any] = node._inputs()
    return found


def _kind(node: Any) -> str:
    return type(node).__name__


def _value(tensor: Any) -> Any:
    """Return a constant of the graph; None where it is none."""
    value = tf.get_static_value(tensor)
    return None if value is None else value.item()
