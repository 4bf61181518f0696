"""What a Grain graph says of itself."""

# Grain keeps what a node is made of to itself, so this module reads its private fields.
# ruff: noqa: SLF001

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from detloader.adapters.declaring import overlaid
from detloader.adapters.grain.arguments import config_of_arguments
from detloader.adapters.grain.seeds import config_of_seeds, given_seed

__all__ = ["declare", "declare_unseen"]

_FILTERS = frozenset({"FilterIterDataset", "FilterMapDataset", "LimitIterDataset"})

_OF_BATCHES = frozenset({"batch_size", "drop_remainder"})

_REPEATS = frozenset({"RepeatIterDataset", "RepeatMapDataset"})

_TRANSFORMATIONS = frozenset(
    {
        "BatchIterDataset",
        "BatchMapDataset",
        "ConcatenateMapDataset",
        "FilterIterDataset",
        "FilterMapDataset",
        "FlatMapMapDataset",
        "MixedIterDataset",
        "MixedMapDataset",
        "RandomMapIterDataset",
        "RandomMapMapDataset",
        "RepeatIterDataset",
        "RepeatMapDataset",
        "ShuffleMapDataset",
        "WindowShuffleIterDataset",
        "WindowShuffleMapDataset",
        "ZipMapDataset",
    }
)
"""Nodes whose place among the others decides which record comes when, and what it draws."""


def declare(
    nodes: Sequence[Any], followed: Sequence[Any], sources: Sequence[Any]
) -> dict[str, object]:
    """Return the declared fields that nodes tell; what they do not stays unknown.

    Args:
        nodes: all of a graph, from the outermost on.
        followed: those among them whose records are the rows.
        sources: those that are read, where they are known.
    """
    by_name: dict[str, Any] = {}
    for node in followed:
        by_name.setdefault(type(node).__name__, node)
    # Threads and workers read ahead, and what they read is handed on in its order.
    declared: dict[str, object] = {"start_method": None, "workers": 0, "deterministic": True}
    declared["shuffle"] = any("Shuffle" in name for name in by_name)
    batch = by_name.get("BatchIterDataset") or by_name.get("BatchMapDataset")
    if batch is not None:
        declared["batch_size"] = batch._batch_size
        declared["drop_remainder"] = batch._drop_remainder
    if len(sources) == 1:
        declared["source_size"] = len(sources[0])
    workers = [node for node in followed if type(node).__name__ == "ProcessPrefetchIterDataset"]
    if workers:
        declared |= {"workers": len(workers), "start_method": "spawn"}
    prefetch = by_name.get("PrefetchIterDataset")
    if prefetch is not None:
        declared["threads"] = prefetch._read_options.num_threads
    filters = [type(node).__name__ for node in followed if _leaves_out(node)]
    config = {"filter": filters, "transformations": _transformations(followed)}
    config = {name: names for name, names in config.items() if names}
    declared["config"] = {**config, **config_of_arguments(nodes)} or None
    declared = overlaid(declared, _declare_seeds(nodes))
    sampler = by_name.get("_SamplerMapDataset")
    if sampler is not None:
        declared = overlaid(declared, _of_sampler(sampler))
    return {name: value for name, value in declared.items() if value is not None}


def declare_unseen(nodes: Sequence[Any], *, known: bool, batched: bool) -> dict[str, object]:
    """Return the declared fields that nodes tell of elements whose records nobody follows.

    Args:
        nodes: all of a graph, from the outermost on.
        known: whether what all of them do is known; others may shuffle and start workers, too.
        batched: whether its elements are taken for batches.
    """
    declared = declare(nodes, nodes, ())
    unsure = {"deterministic"}
    unsure |= {name for name in ("shuffle", "workers") if not declared.get(name)}
    left_out = (unsure if not known else set()) | (_OF_BATCHES if not batched else set())
    told = {name: value for name, value in declared.items() if name not in left_out}
    if any(type(node).__name__ in _REPEATS for node in nodes):
        # An epoch is an iteration, however often records come in it.
        told = overlaid(told, {"config": {"repeats": "repeat"}})
    return told


def _transformations(nodes: Sequence[Any]) -> list[str]:
    """Name those from the source on, once where several stand beside one another."""
    names = [type(node).__name__ for node in reversed(nodes)]
    return [name for name, _ in groupby(filter(_TRANSFORMATIONS.__contains__, names))]


def _declare_seeds(nodes: Sequence[Any]) -> dict[str, object]:
    """Return the declared fields that tell of seeds alone."""
    declared = {"seed": given_seed(nodes), "config": config_of_seeds(nodes) or None}
    return {name: value for name, value in declared.items() if value is not None}


def _leaves_out(node: Any) -> bool:
    """Tell whether a node leaves records of its parent out because its user means it."""
    name = type(node).__name__
    is_slice = name == "SliceMapDataset"
    return name in _FILTERS or (is_slice and len(node) < len(node._parent))


def _of_sampler(node: Any) -> dict[str, object]:
    sampler, shards = node._sampler, node._shard_options
    drops = shards.shard_count > 1 and shards.drop_remainder
    return {
        "seed": getattr(sampler, "_seed", None),
        "shuffle": getattr(sampler, "_shuffle", None),
        "num_epochs": getattr(sampler, "_num_epochs", None),
        "source_size": getattr(sampler, "_num_records", None),
        "world_size": shards.shard_count,
        **({"config": {"drop_uneven_ranks": True}} if drops else {}),
    }
