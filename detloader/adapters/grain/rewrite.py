"""A witnessed copy of a user's Grain graph.

The copy is made of the finished graph, node by node: seeds are fixed when a node is built,
so none of them changes, and nor do lengths or the states that iterators save. A node that
is not known here is refused by name, for it might move elements and rows apart.
"""

# Grain keeps what a node is made of to itself, so this module reads its private fields.
# ruff: noqa: SLF001

from __future__ import annotations

import copy
from collections.abc import Mapping as AnyMapping
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import grain

from detloader.adapters.grain.nodes import (
    Batching,
    Choosing,
    Drawing,
    Indexing,
    Mapping,
    PassCounter,
    Seal,
)
from detloader.adapters.grain.passes import WitnessedRepeat, epochs_of_a_pass, is_replaying
from detloader.adapters.grain.seeds import TRANSFORMS, seed_of_draws
from detloader.adapters.grain.sources import (
    Probe,
    WitnessedLeaf,
    WitnessedRange,
    WitnessedSource,
)
from detloader.adapters.walk import bottom_up, each_once
from detloader.errors import UsageError
from detloader.manifest.rounding import Digester

__all__ = ["Graph", "is_batched", "is_known", "nodes_of", "witness"]

_PASSING = frozenset(
    {
        "CacheIterDataset",
        "InterleaveIterDataset",
        "LimitIterDataset",
        "MixedIterDataset",
        "ProcessPrefetchIterDataset",
        "ThreadPrefetchIterDataset",
        "WindowShuffleIterDataset",
        "WithOptionsIterDataset",
        "_DataLoaderPipelineMarkerIterDataset",
        "_DataLoaderStateIterDataset",
        "_LazyWorkerSliceIterDataset",
        "_MpContextIterDataset",
        "_OutputIterDataset",
        "_WithSeedIterDataset",
    }
)
"""Stream nodes that hand on elements as they are, whatever they are."""

_BELOW = frozenset(
    {
        "BatchMapDataset",
        "ConcatenateMapDataset",
        "FilterMapDataset",
        "FlatMapMapDataset",
        "MapMapDataset",
        "MapWithIndexMapDataset",
        "MixedMapDataset",
        "RepeatMapDataset",
        "ShuffleMapDataset",
        "SliceMapDataset",
        "WindowShuffleMapDataset",
        "_SamplerMapDataset",
        "_WithSeedMapDataset",
    }
)
"""Random-access nodes below the probe, where elements are the user's own."""


@dataclass
class Graph:
    """What was found while a graph was copied.

    Attributes:
        top: the witnessed copy; each element is `(element, Packed, digests)`.
        followed: the original nodes that are witnessed, each once, from the outermost on.
        sources: nodes that are read, numbered by their place.
        seeds: those of the random transforms, numbered by their place; None where the
            stream of each record is told by its generator alone.
        batched: whether an element is a batch.
        digester: what digests the content of samples; None where nobody wants it.
    """

    digester: Digester | None
    top: grain.IterDataset[Any] = field(init=False)
    followed: list[Any] = field(default_factory=list)
    sources: list[Any] = field(default_factory=list)
    seeds: list[int | None] = field(default_factory=list)
    batched: bool = False


def witness(dataset: grain.IterDataset[Any], digester: Digester | None) -> Graph:
    """Copy a graph so that each element brings along what it is made of.

    Args:
        dataset: the outermost node.
        digester: what digests the content of samples; None where nobody wants it.

    Raises:
        UsageError: a node is not known.
    """
    kinds = [type(node).__name__ for node in each_once(dataset, _parents)]
    graph = Graph(digester, batched=bool(_BATCHES & set(kinds)))
    if "_SamplerMapDataset" in kinds:
        graph.seeds.append(None)
    random = sum(kind in TRANSFORMS for kind in kinds)
    graph.followed += each_once(dataset, _followed)
    copier = _Copier(graph, dataset, operations=len(graph.seeds) + random)
    graph.top = copier.sealed(copier.copy(dataset))
    return graph


def nodes_of(dataset: Any) -> list[Any]:
    """List the nodes of a graph, each once, from the outermost on."""
    return [*each_once(dataset, lambda node: _parents(node)[::-1])]


def is_known(node: Any) -> bool:
    """Tell whether it is known here what a node does."""
    name = type(node).__name__
    return _is_of_grain(node) and (name in _KNOWN or not _parents(node))


def is_batched(dataset: Any) -> bool:
    """Tell whether the elements of a graph are batches, as far as its nodes say it."""
    return any(type(node).__name__ in _BATCHES for node in each_once(dataset, _whole_in))


class _Copier:
    def __init__(self, graph: Graph, top: Any, operations: int) -> None:
        self._graph = graph
        self._operations = max(operations, 1)
        self._outermost = _reached_as_they_are(top)
        self._done: dict[int, Any] = {}

    def sealed(self, node: Any) -> Seal:
        graph = self._graph
        return Seal(node, self._operations, batched=graph.batched, digester=graph.digester)

    def copy(self, top: Any) -> Any:
        """Copy a node with all that is above the sources."""
        for node in bottom_up(top, _followed):
            self._done[id(node)] = self._copy(node)
        return self._done[id(top)]

    def _copy(self, node: Any) -> Any:
        name = type(node).__name__
        if not _parents(node):
            return self._source(node)
        if not is_known(node):
            raise _unknown(node)
        if name == "ZipMapDataset":
            return self._zip(node)
        twin = _shallow(node, {id(parent): self._done[id(parent)] for parent in _parents(node)})
        if name in TRANSFORMS:
            twin._map_fn = self._drawing(node)
        elif name in _WRAPPERS:
            attribute, wrapper = _WRAPPERS[name]
            setattr(twin, attribute, wrapper(getattr(node, attribute)))
        elif name == "PrefetchIterDataset":
            twin._parents = (Probe(twin._parent),)
        elif name == "RepeatIterDataset":
            twin._parents = (PassCounter(twin._parent),)
        elif is_replaying(node):
            return WitnessedRepeat(twin, self._epochs_of_a_pass(node))
        elif name == "ProcessPrefetchIterDataset" and id(node) in self._outermost:
            # What no transform changes any more is digested where it was made.
            twin._parents = (self.sealed(twin._parent),)
        return twin

    def _source(self, node: Any) -> Any:
        name = type(node).__name__
        if not isinstance(node, grain.MapDataset):
            raise _unknown(node)
        number = len(self._graph.sources)
        self._graph.sources.append(node)
        if _is_of_grain(node) and name == "SourceMapDataset":
            return WitnessedSource(node, number)
        if _is_of_grain(node) and name == "RangeMapDataset":
            return WitnessedRange(node, number)
        return WitnessedLeaf(node, number)

    def _epochs_of_a_pass(self, repeat: Any) -> dict[int, int]:
        epochs = epochs_of_a_pass(repeat.parents[0], _followed)
        numbers = {id(source): number for number, source in enumerate(self._graph.sources)}
        return {numbers[source]: count for source, count in epochs.items()}

    def _drawing(self, node: Any) -> Drawing:
        self._graph.seeds.append(seed_of_draws(node))
        is_stream = isinstance(node, grain.IterDataset)
        return Drawing(node._map_fn, len(self._graph.seeds) - 1, pairs=is_stream)

    def _zip(self, node: Any) -> Any:
        """Witness the first of what is put side by side: it names the record."""
        first, *others = node.parents
        twin = _shallow(node, {})
        twin._parents = (self._done[id(first)], *others)
        return twin


_WRAPPERS = {
    "MapIterDataset": ("_map_fn", Mapping),
    "MapWithIndexIterDataset": ("_map_fn", Indexing),
    "FilterIterDataset": ("_filter_fn", Choosing),
    "BatchIterDataset": ("_batch_fn", Batching),
}

_BATCHES = frozenset({"BatchMapDataset", "BatchIterDataset"})

_KNOWN = (
    _PASSING
    | _BELOW
    | TRANSFORMS
    | _WRAPPERS.keys()
    | {"PrefetchIterDataset", "RepeatIterDataset", "ZipMapDataset"}
)


def _shallow(node: Any, twins: AnyMapping[int, Any]) -> Any:
    """Copy one node; wherever it keeps a parent, the copy keeps the parent's twin."""
    twin = copy.copy(node)
    for name, value in vars(node).items():
        setattr(twin, name, _with_twins(value, twins))
    for cached in ("_stats", "_get_parent_items_fn"):
        vars(twin).pop(cached, None)
    return twin


def _with_twins(value: Any, twins: AnyMapping[int, Any]) -> Any:
    if id(value) in twins:
        return twins[id(value)]
    if type(value) in (tuple, list):
        return type(value)(_with_twins(item, twins) for item in value)
    if type(value) is dict:
        return {key: _with_twins(item, twins) for key, item in value.items()}
    return value


def _reached_as_they_are(top: Any) -> set[int]:
    """Name the nodes whose elements reach the outermost one unchanged."""
    return {id(node) for node in each_once(top, _passed_on)}


def _passed_on(node: Any) -> Sequence[Any]:
    return _parents(node) if type(node).__name__ in _PASSING else ()


def _whole_in(node: Any) -> Sequence[Any]:
    # What takes an element apart hands on records, whatever is below it.
    return () if type(node).__name__.startswith("FlatMap") else _parents(node)


def _followed(node: Any) -> Sequence[Any]:
    """Return what is witnessed below a node, the last first: walks begin with the last."""
    parents = _parents(node)
    return parents[:1] if type(node).__name__ == "ZipMapDataset" else parents[::-1]


def _parents(node: Any) -> tuple[Any, ...]:
    # An interleave, such as that of worker processes, keeps them to itself.
    return tuple(node.parents or getattr(node, "_datasets", ()))


def _is_of_grain(node: Any) -> bool:
    return type(node).__module__.partition(".")[0] == "grain"


def _unknown(node: Any) -> UsageError:
    message = (
        f"cannot follow records through {type(node).__name__}: record what is below it, or say "
        "with ids= which key of an element, or which function of it, tells its record"
    )
    return UsageError(message)
