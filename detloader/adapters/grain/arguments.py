"""What the nodes of a Grain graph were given that decides which record comes when."""

# Grain keeps what a node is made of to itself, so this module reads its private fields.
# ruff: noqa: SLF001

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from detloader.adapters.grain.passes import is_replaying
from detloader.adapters.walk import each_once

__all__ = ["config_of_arguments"]

_DIGITS = 6
"""Of the shares of a mixture, which are made of whole numbers."""


def config_of_arguments(nodes: Sequence[Any]) -> dict[str, object]:
    """Return entries of a configuration, each a list from the source on."""
    entries: dict[str, list[object]] = {}
    for node in reversed(nodes):
        name, read = _ARGUMENTS.get(type(node).__name__, ("", _nothing))
        if (argument := read(node)) is not None:
            entries.setdefault(name, []).append(argument)
    return {**entries, **_config_of_repeats(nodes)}


def _shares(mixture: Any) -> list[float] | str:
    """Return what part of a mixture is of each dataset; the name of a map of the user's own."""
    chosen = getattr(mixture, "_selection_map", mixture)
    if (weights := getattr(chosen, "_proportions", None)) is None:
        return type(chosen).__qualname__
    return [round(weight / sum(weights), _DIGITS) for weight in weights]


def _slice(node: Any) -> list[int] | None:
    """Return where a slice begins and ends, and its step; None where it has all, in order."""
    if (node._start, node._step) == (0, 1) and len(node) == len(node._parent):
        return None
    return [node._start, node._stop, node._step]


def _cycle(interleave: Any) -> int | None:
    """Return how many datasets take turns; None for worker processes."""
    parts = {type(part).__name__ for part in interleave._datasets}
    return None if parts == {"ProcessPrefetchIterDataset"} else int(interleave._cycle_length)


def _nothing(node: Any) -> None:  # noqa: ARG001 - as those that tell something
    return None


def _count(node: Any) -> int:
    return int(node._count)


def _window(node: Any) -> int:
    return int(node._window_size)


_ARGUMENTS: dict[str, tuple[str, Callable[[Any], object]]] = {
    "InterleaveIterDataset": ("interleave", _cycle),
    "LimitIterDataset": ("limit", _count),
    "MixedIterDataset": ("mix", _shares),
    "MixedMapDataset": ("mix", _shares),
    "SliceMapDataset": ("slice", _slice),
    "WindowShuffleIterDataset": ("window_shuffle", _window),
    "WindowShuffleMapDataset": ("window_shuffle", _window),
}


def _config_of_repeats(nodes: Iterable[Any]) -> dict[str, object]:
    """Tell whether epochs are shuffled and drawn for anew, where anything is repeated that is."""
    repeats = [node for node in nodes if type(node).__name__ == "RepeatMapDataset"]
    repeated, replayed = _behind(repeats), _behind(filter(is_replaying, repeats))
    shuffles, transforms = (
        {id(node) for node in nodes if kind in type(node).__name__}
        for kind in ("Shuffle", "RandomMap")
    )
    config: dict[str, object] = {}
    if shuffles & repeated:
        config["reshuffle_each_epoch"] = not shuffles <= replayed
    if transforms & repeated:
        config["fixed_draws"] = transforms <= replayed
    return config


def _behind(nodes: Iterable[Any]) -> set[int]:
    return {id(each) for node in nodes for each in each_once(node, lambda node: node.parents)}
