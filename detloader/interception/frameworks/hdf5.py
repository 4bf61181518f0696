"""The HDF5 Dataloader, and the streams that it gives."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from detloader.interception.changes import Changes
from detloader.interception.frameworks.grain import iterate_twin_of
from detloader.interception.session import note_places

__all__ = ["MODULE", "install"]

MODULE = "detloader.hdf5.loader"


def install(module: ModuleType, changes: Changes) -> None:
    """Change the loader, and its streams where it is not the loader that iterates them."""
    for kind, original_of in ((module.Dataloader, _itself), (module.Stream, _unless_recorded)):
        note_places(kind, changes)
        changes.replace(kind, "__iter__", iterate_twin_of(original_of))


def _itself(loader: Any) -> Any:
    return loader


def _unless_recorded(stream: Any) -> Any | None:
    # What is witnessed is recorded already, as a part of its loader.
    return None if stream.maker.witnessing.told else stream
