"""Grain: each dataset that a program iterates is replaced by its twin as it begins."""

from __future__ import annotations

import functools
import logging
from types import ModuleType
from typing import Any

from detloader.interception.session import note_places, twin_of, without_recording

__all__ = ["MODULE", "install", "replaced"]

_log = logging.getLogger("detloader")

MODULE = "grain._src.python.dataset.dataset"


def install(module: ModuleType) -> None:
    """Change the node that Grain puts on top of what is iterated, and what it is put on."""
    note_places(module._Dataset)  # noqa: SLF001 - Grain offers no place to look on
    module.MapDataset.__iter__ = replaced(module.MapDataset.__iter__, lambda dataset: dataset)
    output = getattr(module, "_OutputIterDataset", None)
    if output is None:
        _log.warning("Grain before 0.2.16: an IterDataset is not recorded; upgrade, or wrap it")
        return
    output.__iter__ = replaced(output.__iter__, lambda node: node.parents[0])


def replaced(iterate: Any, original_of: Any) -> Any:
    """Return an `__iter__` that begins the twin of what a node stands for."""

    @functools.wraps(iterate)
    def begin(node: Any) -> Any:
        twin = twin_of(original_of(node))
        if twin is None:
            return iterate(node)
        with without_recording():
            return twin.__iter__()

    return begin
