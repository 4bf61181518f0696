"""Detloader's own streams, which Grain does not put its node on top of."""

from __future__ import annotations

from types import ModuleType

from detloader.interception.changes import Changes
from detloader.interception.frameworks.grain import iterate_twin_of
from detloader.interception.session import note_places

__all__ = ["MODULE", "install"]

MODULE = "detloader.grain.stream"


def install(module: ModuleType, changes: Changes) -> None:
    """Change the stream of `to_grain`."""
    note_places(module.BatchStream, changes)
    changes.replace(module.BatchStream, "__iter__", iterate_twin_of(lambda stream: stream))
