"""Keyword arguments that all assertions share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

__all__ = ["Options", "Recording"]


class Recording(TypedDict, total=False):
    """How a loader is recorded: as `detloader.record` says, and `elements` to take at most."""

    elements: int
    declared: Mapping[str, Any]
    ids: Any
    batched: bool
    content: str
    decimals: int
    id_root: str | Path
    level: str


class Options(Recording, total=False):
    """How a loader is made and recorded; `arguments` are those of every call of the factory."""

    arguments: Mapping[str, Any]
