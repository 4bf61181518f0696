"""Grain: each dataset that a program iterates is replaced by its twin as it begins."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from detloader.interception.aside import without_recording
from detloader.interception.changes import Changes
from detloader.interception.places import is_library
from detloader.interception.session import is_recorded, note_places
from detloader.interception.twins import twin_of

__all__ = ["MODULE", "install", "iterate_twin_of"]

MODULE = "grain._src.python.dataset.dataset"

_INJECTOR = "wrapper"
"""What Grain puts around the `__iter__` of each dataset, so as to put a node on top."""


def install(module: ModuleType, changes: Changes) -> None:
    """Change the node that Grain puts on top of what is iterated, and what it is put on."""
    note_places(module._Dataset, changes)  # noqa: SLF001 - Grain offers no place to look on
    changes.replace(module.MapDataset, "__iter__", iterate_twin_of(lambda dataset: dataset))
    changes.put(module.IterDataset, "has_child", property(_is_inner, _set_inner))
    output = module._OutputIterDataset  # noqa: SLF001 - as above
    changes.replace(output, "__iter__", iterate_twin_of(lambda node: node.parents[0]))


def _is_inner(dataset: Any) -> bool:
    """Tell whether Grain is to put no node on top; it puts one on what is to be recorded.

    It knows of an inner dataset that something was made of it, and not that the program iterates
    it by itself.
    """
    try:
        is_inner: bool = vars(dataset)["has_child"]
    except KeyError:
        raise AttributeError("has_child") from None
    asks = sys._getframe(1)  # noqa: SLF001 - as in `places`
    if not is_inner or asks.f_code.co_name != _INJECTOR or asks.f_back is None:
        return is_inner
    return is_library(asks.f_back.f_code.co_filename) or _twin_of(dataset) is None


def _twin_of(dataset: Any) -> Any | None:
    """Return what is to be iterated in a dataset's place; None of what a twin is made of.

    Which Grain iterates in threads and in processes of its own, and whose rows the twin has.
    """
    return None if _is_of_a_twin(dataset) else twin_of(dataset)


def _is_of_a_twin(dataset: Any) -> bool:
    from detloader.adapters.walk import each_once

    return any(map(is_recorded, each_once(dataset, _parents)))


def _parents(dataset: Any) -> Any:
    # An interleave, such as that of worker processes, keeps its parents to itself.
    return getattr(dataset, "parents", ()) or getattr(dataset, "_datasets", ())


def _set_inner(dataset: Any, is_inner: bool) -> None:  # noqa: FBT001 - Grain's
    vars(dataset)["has_child"] = is_inner


def iterate_twin_of(original_of: Callable[[Any], Any | None]) -> Callable[[Any], Any]:
    """Return what makes an `__iter__` into one that begins the twin of what a node stands for.

    Args:
        original_of: what a node stands for; None where it is not to be recorded.
    """

    def wrapped(iterate: Any) -> Any:
        @functools.wraps(iterate)
        def begin(node: Any) -> Any:
            original = original_of(node)
            if original is None or (twin := _twin_of(original)) is None:
                return iterate(node)
            if original is not node:
                # Or Grain would put no node on top of it when it is iterated again.
                original.has_child = False
            with without_recording():
                return twin.__iter__()

        return begin

    return wrapped
