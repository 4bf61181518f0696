"""How each kind of loader is recorded: one kind, one module.

A module of this package is an adapter. It defines

    suits(loader) -> Fit          whether it records such a loader, and how well
    wrap(loader, request) -> …    the loader's twin, that records what it delivers

and is found by being here. `suits` looks at types by name, so that asking imports no
framework.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from enum import IntEnum
from types import ModuleType
from typing import Protocol, cast

from detloader.adapters.request import Request
from detloader.errors import UsageError

__all__ = ["Adapter", "Fit", "Recorded", "find_adapter"]


class Fit(IntEnum):
    """How well an adapter knows a loader."""

    NO = 0
    ANY = 1
    KIND = 2


class Recorded(Protocol):
    """What `record` returns: the loader's twin."""

    def close(self) -> None:
        """Seal the run."""


class Adapter(Protocol):
    """What a module of this package defines."""

    def suits(self, loader: object) -> Fit:
        """Tell how well this adapter knows a loader."""

    def wrap(self, loader: object, request: Request) -> Recorded:
        """Start recording."""


def find_adapter(loader: object) -> Adapter:
    """Return the adapter that knows a loader best.

    Raises:
        UsageError: none knows it.
    """
    best = max(_adapters(), key=lambda adapter: adapter.suits(loader))
    if best.suits(loader) is Fit.NO:
        message = f"cannot record a {type(loader).__name__}: give an iterable or a loader"
        raise UsageError(message)
    return best


def _adapters() -> Iterator[Adapter]:
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        loaded: ModuleType = importlib.import_module(module.name)
        if hasattr(loaded, "suits"):
            yield cast("Adapter", loaded)
