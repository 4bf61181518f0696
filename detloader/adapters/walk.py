"""Walks over what a dataset of a framework is made of: one may be the input of several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = ["bottom_up", "each_once"]


def each_once(node: Any, inputs: Callable[[Any], Iterable[Any]]) -> Iterator[Any]:
    """Yield a node and all that are behind it, each of them once.

    Args:
        node: a dataset, or an operation of a graph.
        inputs: gives those that are directly behind one.
    """
    seen: dict[int, Any] = {}
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen[id(node)] = node
            yield node
            waiting += inputs(node)


def bottom_up(node: Any, inputs: Callable[[Any], Iterable[Any]]) -> Iterator[Any]:
    """Yield a node and all that are behind it, each of them once, and after all behind it.

    Args:
        node: a dataset, or an operation of a graph.
        inputs: gives those that are directly behind one.
    """
    seen: dict[int, Any] = {}
    waiting = [(node, False)]
    while waiting:
        node, is_ready = waiting.pop()
        if is_ready:
            yield node
        elif id(node) not in seen:
            seen[id(node)] = node
            waiting.append((node, True))
            waiting += [(behind, False) for behind in inputs(node)]
