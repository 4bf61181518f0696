"""How each kind of loader is recorded: one framework, one module.

A module of this package is named after the top-level package whose loaders it records:
`torch.py` those of torch, and `builtins.py`, since every class descends from
`builtins.object`, all that nobody else knows. It defines

    suits(loader) -> bool         whether it records this object
    wrap(loader, request) -> …    the loader's twin, that records what it delivers
    remake(loader, i, j, digester) -> …
                                  where loaders make any rows alone: rows i to j of them, made again
    alone(loader, i, digester) -> …
                                  where they do: row i as an `Alone`, with what was drawn for it
    rank_of(loader) -> …          where loaders know it: their rank and the number of ranks, or None
    iterate(loader, note) -> …    where data sets inside other loaders know which record they read:
                                  an iterator over one, which notes each record's number
    order(loader) -> …            where data sets inside other loaders say how they are ordered: the
                                  fields of `Declared` that tell it
    places(loader) -> …           where data sets are selections of others: where each of their
                                  records stands there, int64; None where that is its index

and is imported only for an object of its package, so it may import that package freely.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from detloader.adapters.request import Request
from detloader.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from detloader.grain.alone import Alone

__all__ = [
    "Adapter",
    "Recorded",
    "find_adapter",
    "find_alone",
    "find_iterate",
    "find_order",
    "find_places",
    "told_rank",
]


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
        UsageError: none records such an object, or one does not work with what is installed.
    """
    for adapter in _adapters(type(loader)):
        if adapter.suits(loader):
            return adapter
    message = f"cannot record a {type(loader).__name__}: give a loader or another iterable"
    raise UsageError(message)


def told_rank(loader: object) -> tuple[int, int] | None:
    """Return the rank that a loader reads for and how many there are; None where nobody says.

    Raises:
        UsageError: no adapter records such an object.
    """
    rank_of = getattr(find_adapter(loader), "rank_of", None)
    return rank_of and rank_of(loader)


def find_alone(loader: object) -> Callable[..., Alone]:
    """Return what makes any row of a loader again, alone.

    Raises:
        UsageError: its rows cannot be made alone.
    """
    alone: Callable[..., Alone] | None = getattr(find_adapter(loader), "alone", None)
    if alone is None:
        raise UsageError(
            f"a {type(loader).__name__} makes no record alone: only streams of to_grain and the "
            "HDF5 Dataloader do"
        )
    return alone


def find_iterate(dataset: object) -> Callable[..., Iterator[Any]] | None:
    """Return how a data set inside another loader is iterated so that it names its records."""
    return _find_hook(dataset, "iterate")


def find_order(dataset: object) -> dict[str, Any]:
    """Return the declared fields that a data set inside another loader tells of its order."""
    order: Callable[[object], dict[str, Any]] | None = _find_hook(dataset, "order")
    return {} if order is None else order(dataset)


def find_places(dataset: object) -> pa.Array[Any] | None:
    """Return where the records of a selection stand in what it is of; None of other data sets."""
    places: Callable[[object], pa.Array[Any] | None] | None = _find_hook(dataset, "places")
    return None if places is None else places(dataset)


def _find_hook(dataset: object, name: str) -> Callable[..., Any] | None:
    """Return what the nearest adapter that has such a function, and records the object, has."""
    for adapter in _adapters(type(dataset)):
        hook: Callable[..., Any] | None = getattr(adapter, name, None)
        if hook is not None and adapter.suits(dataset):
            return hook
    return None


def _adapters(kind: type) -> Iterator[Adapter]:
    packages = dict.fromkeys(base.__module__.partition(".")[0] for base in kind.__mro__)
    for package in packages:
        name = f"{__name__}.{package}"
        if importlib.util.find_spec(name) is None:
            continue
        try:
            adapter = importlib.import_module(name)
        except (ImportError, AttributeError) as error:
            if not _is_about(error, package):
                raise
            if not _is_installed(package):
                continue  # the program's own `datasets.py`, or what else is called like a framework
            raise UsageError(
                f"cannot record loaders of this release of {package}: {error}; "
                "docs/record.md says which releases were tried"
            ) from error
        # A module of the program's may bear the name of one that adapters share.
        if hasattr(adapter, "suits"):
            yield cast("Adapter", adapter)


def _is_about(error: ImportError | AttributeError, package: str) -> bool:
    """Tell whether something is missing in a package, and not in what else the adapter needs."""
    where = error.name if isinstance(error, ImportError) else getattr(error.obj, "__name__", None)
    return str(where).partition(".")[0] == package


def _is_installed(package: str) -> bool:
    """Tell whether a package that was imported is a framework, and not a part of the program."""
    origin = getattr(sys.modules.get(package), "__file__", None) or ""
    return not {"site-packages", "dist-packages"}.isdisjoint(Path(origin).parts)
