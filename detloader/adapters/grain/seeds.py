"""Seeds that a Grain graph was given, and those that Grain made of them.

`dataset.seed(7)` gives one seed to all nodes above it. Each node that is given none of its own
derives one from it and from how many nodes lie between the two: with a node put in there, it
is another one.
"""

# Grain keeps what a node is made of to itself, so this module reads its private fields.
# ruff: noqa: SLF001

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from detloader.adapters.walk import each_once

__all__ = ["TRANSFORMS", "config_of_seeds", "given_seed", "seed_of_draws"]

_DEFAULT = "_default_seed"
"""Attribute that a node has once it has derived a seed; to ask for it would derive one."""

_SHUFFLES = frozenset({"ShuffleMapDataset", "WindowShuffleIterDataset", "WindowShuffleMapDataset"})

TRANSFORMS = frozenset({"RandomMapIterDataset", "RandomMapMapDataset"})
"""Nodes that draw for each record."""


def given_seed(nodes: Sequence[Any]) -> int | str | None:
    """Return the seed that users gave for order and defaults, several as text; None for none."""
    given: dict[int, None] = {}
    for node in nodes:
        if _DEFAULT in vars(node):
            given |= dict.fromkeys(_seeds_below(node))
        elif type(node).__name__ in _SHUFFLES:
            given[int(node._seed)] = None
    seeds = [*given]
    if len(seeds) > 1:
        return ", ".join(map(str, seeds))
    return seeds[0] if seeds else None


def config_of_seeds(nodes: Sequence[Any]) -> dict[str, object]:
    """Return the entries that list seeds of nodes, from the source on, where there are any.

    Those that Grain derived, which nobody gave, and those that transforms were given.
    """
    derived = [
        [type(node).__name__, int(vars(node)[_DEFAULT])]
        for node in reversed(nodes)
        if vars(node).get(_DEFAULT) is not None
    ]
    given = [
        [type(node).__name__, seed_of_draws(node)]
        for node in reversed(nodes)
        if type(node).__name__ in TRANSFORMS and _DEFAULT not in vars(node)
    ]
    listed = {"derived_seeds": derived, "transform_seeds": given}
    entries: dict[str, object] = {name: pairs for name, pairs in listed.items() if pairs}
    return {**entries, "inert": [*entries]} if entries else {}


def seed_of_draws(node: Any) -> int:
    """Return the seed of a random transform."""
    is_stream = type(node).__name__ == "RandomMapIterDataset"
    return int(node._seed if is_stream else node._rng_pool._seed)


def _seeds_below(node: Any) -> Iterator[int]:
    """Yield the nearest seeds below a node, as Grain looks for them."""
    for each in each_once(node, _without_seed):
        if (seed := _seed_of(each)) is not None:
            yield int(seed)


def _without_seed(node: Any) -> Sequence[Any]:
    """Return what is directly below a node that has no seed of its own, from the first on."""
    return node._parents[::-1] if _seed_of(node) is None else ()


def _seed_of(node: Any) -> Any:
    return getattr(node, "_seed_rng_seed", None)
