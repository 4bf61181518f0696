"""The generators that an object holds: in its attributes, its transforms, and theirs."""

from __future__ import annotations

import collections
import functools
import itertools
import operator
import types
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from detloader.generators.state import identity_of, is_generator

__all__ = ["find_generators"]

_DEEPEST = 32

_MOST = 500
"""Objects that are looked at of one level: a search takes milliseconds, whatever data are held."""

_LONGEST = 64
"""Containers with more items than this hold data, not transforms."""

_WIDEST = 1000
"""So do containers in containers, where all of them may have more items than this."""

_LISTS = (list, tuple, collections.deque)
_DICTS = (dict, collections.OrderedDict, collections.defaultdict)

_DESCRIPTORS = (
    types.FunctionType,
    types.GetSetDescriptorType,
    classmethod,
    staticmethod,
    property,
)
"""What the classes of a user hold of their own, and not for their objects."""

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
    level = [_Held(name, holder, 1)]
    for _ in range(_DEEPEST):
        new = (held for each in level for held in each.within() if not _is_seen(held.value, seen))
        # By levels: where a generator has several paths, the shortest is its name.
        level = list(itertools.islice(new, _MOST))
        found |= {held.path: held.value for held in level if is_generator(held.value)}
        level = [held for held in level if held.path not in found]
        # What is one of many is sooner data, and comes last.
        level.sort(key=operator.attrgetter("width"))
    return found


class _Held(NamedTuple):
    """What an object holds.

    Attributes:
        path: where it is held.
        value: it.
        width: how many there may be like it: the product of the lengths of containers about it.
    """

    path: str
    value: Any
    width: int

    def within(self) -> Iterator[_Held]:
        """Find what this holds."""
        is_container = isinstance(self.value, _LISTS) or type(self.value) in _DICTS
        width = self.width * len(self.value) if is_container else self.width
        if width > _WIDEST:
            return
        yield from (_Held(path, value, width) for path, value in _children(self.path, self.value))


def _is_seen(value: object, seen: set[int]) -> bool:
    if isinstance(value, _NO_HOLDERS) or hasattr(type(value), "__array__"):
        return True
    identity = identity_of(value)
    if identity in seen:
        return True
    seen.add(identity)
    return False


def _children(path: str, value: Any) -> Iterator[tuple[str, object]]:
    prefix = f"{path}." if path else ""
    if isinstance(value, _LISTS):
        if len(value) <= _LONGEST:
            yield from ((f"{path}[{place}]", item) for place, item in enumerate(value))
    elif isinstance(value, Mapping):
        # Other mappings may do anything when they are read.
        if type(value) in _DICTS and len(value) <= _LONGEST:
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
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    yield from (
        (f"{prefix}{n}", item) for n, item in zip(names[::-1], defaults[::-1], strict=False)
    )
    yield from ((f"{prefix}{n}", item) for n, item in (function.__kwdefaults__ or {}).items())
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f"{prefix}{name}", cell.cell_contents
        except ValueError:  # not yet set
            continue


def _attributes(value: object) -> Iterator[tuple[str, object]]:
    # Not by getattr: a property may do anything.
    yield from list(getattr(value, "__dict__", {}).items())
    for kind in type(value).__mro__:
        for name, item in list(vars(kind).items()):
            if isinstance(item, types.MemberDescriptorType):
                try:
                    yield name, item.__get__(value)
                except AttributeError:  # not yet set
                    continue
            elif not (name.startswith("__") or isinstance(item, _DESCRIPTORS)):
                yield name, item
