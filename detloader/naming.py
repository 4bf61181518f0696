"""Names of a program's loaders, by which audits pair their streams."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TypeVar
from weakref import WeakKeyDictionary

from detloader.errors import UsageError
from detloader.manifest.layout import MOST_OF_NAME, check_stream

__all__ = ["declared_with_name", "name", "name_of"]

Loader = TypeVar("Loader")

_PYTHONS = frozenset({"builtins", "collections", "itertools"})
"""Modules whose iterables no framework calls a loader."""

_names: WeakKeyDictionary[object, str] = WeakKeyDictionary()
_declared: WeakKeyDictionary[object, Mapping[str, object]] = WeakKeyDictionary()


def name(loader: Loader, stream: str, *, declared: Mapping[str, object] | None = None) -> Loader:
    """Name the stream of a loader that `detloader record -- PROGRAM` records.

    Without a name it is that of the line that made the loader, such as `train.py:41`, which
    moves when the program is edited. A program that is not recorded is not changed by it.

    >>> import grain
    >>> train = name(grain.MapDataset.range(3), "train")
    >>> name_of(train)
    'train'

    Args:
        loader: the loader, before it is iterated.
        stream: its name: up to 100 letters, digits and any of `_ . : = @ + -`.
        declared: what it is meant to be, as `record` takes it: that each rank reads all of a
            validation set is `{"config": {"replication": True}}`.

    Returns:
        The loader itself.

    Raises:
        UsageError: no stream can have that name, `declared` is no mapping, has a field that is
            unknown or of the wrong type, or cannot be written as JSON, or the loader is of a kind
            that is never recorded by itself, such as a list, a generator, or what cannot be
            iterated.
    """
    check_stream(stream, MOST_OF_NAME)
    _require_loader(loader)
    if declared is not None:
        from detloader.adapters.declaring import checked_fields

        # Or it would be found when the loader is iterated, far from here.
        declared = checked_fields(declared)
    _names[loader] = stream
    _declared[loader] = declared or {}
    return loader


def _require_loader(loader: object) -> None:
    kind = type(loader)
    if kind.__module__ not in _PYTHONS and hasattr(kind, "__iter__"):
        with contextlib.suppress(TypeError):  # of a kind that has no hash, or no place for a name
            _names.get(loader)
            return
    raise UsageError(f"a {kind.__name__} cannot be named; name a loader that is recorded by itself")


def name_of(loader: object) -> str | None:
    """Return the name that a loader was given; None where it has none."""
    try:
        return _names.get(loader)
    except TypeError:  # of a kind that has no hash
        return None


def declared_with_name(loader: object) -> Mapping[str, object]:
    """Return what a loader was said to be when it was named."""
    try:
        return _declared.get(loader, {})
    except TypeError:  # of a kind that has no hash
        return {}
