"""How each kind of loader is recorded: one framework, one module.

A module of this package is named after the top-level package whose loaders it records:
`torch.py` those of torch, and `builtins.py`, since every class descends from
`builtins.object`, all that nobody else knows. It defines

    suits(loader) -> bool         whether it records this object
    wrap(loader, request) -> …    the loader's twin, that records what it delivers

and is imported only for an object of its package, so it may import that package freely.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from typing import Protocol, cast

from detloader.adapters.request import Request
from detloader.errors import UsageError

__all__ = ["Adapter", "Recorded", "find_adapter"]


class Recorded(Protocol):
    """What `record` returns: the loader's twin."""

    def close(self) -> None:
        """Seal the run."""


class Adapter(Protocol):
    """What a module of this package defines."""

    def suits(self, loader: object) -> bool:
        """Tell whether this adapter records an object of its package."""

    def wrap(self, loader: object, request: Request) -> Recorded:
        """Start recording."""


def find_adapter(loader: object) -> Adapter:
    """Return the adapter of the nearest ancestor of the loader's class that has one.

    Raises:
        UsageError: none records such an object.
    """
    for adapter in _adapters(type(loader)):
        if adapter.suits(loader):
            return adapter
    message = f"cannot record a {type(loader).__name__}: give a loader or another iterable"
    raise UsageError(message)


def _adapters(kind: type) -> Iterator[Adapter]:
    packages = dict.fromkeys(base.__module__.partition(".")[0] for base in kind.__mro__)
    for package in packages:
        name = f"{__name__}.{package}"
        if importlib.util.find_spec(name) is not None:
            yield cast("Adapter", importlib.import_module(name))
