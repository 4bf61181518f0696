"""The generators that an object holds: in its attributes, its transforms, and theirs."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator, Mapping
from typing import Any

from detloader.generators.state import is_generator

__all__ = ["find_generators"]

_DEEPEST = 6

_LONGEST = 64
"""Containers with more items than this hold data, not transforms."""

_NO_HOLDERS = (str, bytes, int, float, complex, type, types.ModuleType, type(None))


def find_generators(holder: object, name: str = "") -> dict[str, Any]:
    """Find the random generators of Python, NumPy and Torch that an object holds.

    Args:
        holder: an object, such as a data set.
        name: what its own path begins with.

    Returns:
        The generators by their paths, such as "rng" or "transforms[0].rng", each of them once.
    """
    found: dict[str, Any] = {}
    seen: set[int] = set()
    level = [(name, holder)]
    for _ in range(_DEEPEST):
        level = [child for path, value in level for child in _children(path, value)]
        # By levels: where a generator has several paths, the shortest is its name.
        level = [(path, value) for path, value in level if not _is_seen(value, seen)]
        found |= {path: value for path, value in level if is_generator(value)}
        level = [(path, value) for path, value in level if path not in found]
    return found


def _is_seen(value: object, seen: set[int]) -> bool:
    if isinstance(value, _NO_HOLDERS) or hasattr(type(value), "__array__") or id(value) in seen:
        return True
    seen.add(id(value))
    return False


def _children(path: str, value: Any) -> Iterator[tuple[str, object]]:
    prefix = f"{path}." if path else ""
    if isinstance(value, list | tuple):
        if len(value) <= _LONGEST:
            yield from ((f"{path}[{place}]", item) for place, item in enumerate(value))
    elif isinstance(value, Mapping):
        if type(value) is dict and len(value) <= _LONGEST:
            yield from ((f"{path}[{key!r}]", item) for key, item in value.items())
    elif isinstance(value, functools.partial):
        yield from _children(path, [value.func, *value.args, *value.keywords.values()])
    elif isinstance(value, types.MethodType):
        yield path, value.__self__
    elif isinstance(value, types.FunctionType):
        yield from _enclosed(prefix, value)
    else:
        yield from ((f"{prefix}{key}", item) for key, item in _attributes(value))


def _enclosed(prefix: str, function: types.FunctionType) -> Iterator[tuple[str, object]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f"{prefix}{name}", cell.cell_contents
        except ValueError:  # not yet set
            continue


def _attributes(value: object) -> Iterator[tuple[str, object]]:
    # Not by getattr: a property may do anything.
    yield from list(getattr(value, "__dict__", {}).items())
    for kind in type(value).__mro__:
        yield from ((name, item) for name, item in vars(kind).items() if is_generator(item))
