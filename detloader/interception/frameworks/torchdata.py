"""Torchdata: its stateful loader, which iterates in a way of its own."""

from __future__ import annotations

from types import ModuleType

from detloader.interception.changes import Changes
from detloader.interception.frameworks.torch import adopt_on_iteration

__all__ = ["MODULE", "install"]

MODULE = "torchdata.stateful_dataloader.stateful_dataloader"


def install(module: ModuleType, changes: Changes) -> None:
    """Change the stateful loader."""
    adopt_on_iteration(module.StatefulDataLoader, changes)
