"""Records detloader's own loaders: one module for each kind."""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa

from detloader.adapters.detloader import grain_stream
from detloader.adapters.detloader.grain_stream import RecordedStream
from detloader.adapters.request import Request
from detloader.grain.alone import Alone
from detloader.manifest.rounding import EXACT, Digester

__all__ = ["RecordedStream", "alone", "rank_of", "remake", "suits", "wrap"]


def suits(loader: object) -> bool:
    """Tell whether this is a loader of ours."""
    return grain_stream.suits(loader) or _reads_hdf5(loader)


def wrap(loader: Any, request: Request) -> Any:
    """Start recording a loader of ours."""
    if grain_stream.suits(loader):
        return grain_stream.wrap(loader, request)
    from detloader.adapters.detloader import hdf5

    return hdf5.wrap(loader, request)


def rank_of(loader: Any) -> tuple[int, int] | None:
    """Return the rank that a loader was made for, and how many there are; None if for none."""
    if not _reads_hdf5(loader):
        return None
    settings = loader.plan.settings
    return (settings.shard_index, settings.num_shards) if settings.num_shards > 1 else None


def remake(loader: Any, start: int, stop: int, digester: Digester = EXACT) -> pa.Table:
    """Make rows of the first iteration again, without those before them.

    Raises:
        UsageError: the loader cannot make one element without those before it.
    """
    if grain_stream.suits(loader):
        return grain_stream.remake(loader, start, stop, digester)
    from detloader.adapters.detloader import hdf5

    return hdf5.remake(loader, start, stop, digester)


def alone(loader: Any, position: int, digester: Digester = EXACT) -> Alone:
    """Make one row of the first iteration again, and say what was drawn for it.

    Args:
        loader: one of ours; of a Dataloader that was iterated, the last epoch is meant.
        position: of the row, in the order of delivery.
        digester: what digests content.

    Raises:
        UsageError: there is no such row.
    """
    if grain_stream.suits(loader):
        return grain_stream.alone(loader, position, digester)
    from detloader.adapters.detloader import hdf5_alone

    return hdf5_alone.alone(loader, position, digester)


def _reads_hdf5(loader: object) -> bool:
    # Where the module was not imported there are no objects of its classes.
    module = sys.modules.get("detloader.hdf5.loader")
    return module is not None and isinstance(loader, module.Dataloader | module.Stream)
