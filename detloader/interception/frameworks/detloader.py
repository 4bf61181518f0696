"""Detloader's own streams, which Grain does not put its node on top of."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from detloader.interception.frameworks.grain import replaced
from detloader.interception.session import note_places

__all__ = ["MODULE", "install"]

MODULE = "detloader.fused"


def install(module: ModuleType) -> None:
    """Change the stream of `to_grain`."""
    kind: Any = module.BatchStream
    note_places(kind)
    kind.__iter__ = replaced(kind.__iter__, lambda stream: stream)
