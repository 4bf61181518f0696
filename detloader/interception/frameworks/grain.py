"""Grain: each dataset that a program iterates is replaced by its twin as it begins."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from detloader.interception.changes import Changes
from detloader.interception.session import note_places, twin_of, without_recording

__all__ = ["MODULE", "install", "iterate_twin_of"]

MODULE = "grain._src.python.dataset.dataset"


def install(module: ModuleType, changes: Changes) -> None:
    """Change the node that Grain puts on top of what is iterated, and what it is put on."""
    note_places(module._Dataset, changes)  # noqa: SLF001 - Grain offers no place to look on
    changes.replace(module.MapDataset, "__iter__", iterate_twin_of(lambda dataset: dataset))
    output = module._OutputIterDataset  # noqa: SLF001 - as above
    changes.replace(output, "__iter__", iterate_twin_of(lambda node: node.parents[0]))


def iterate_twin_of(original_of: Callable[[Any], Any | None]) -> Callable[[Any], Any]:
    """Return what makes an `__iter__` into one that begins the twin of what a node stands for.

    Args:
        original_of: what a node stands for; None where it is not to be recorded.
    """

    def wrapped(iterate: Any) -> Any:
        @functools.wraps(iterate)
        def begin(node: Any) -> Any:
            original = original_of(node)
            twin = None if original is None else twin_of(original)
            if twin is None:
                return iterate(node)
            with without_recording():
                return twin.__iter__()

        return begin

    return wrapped
