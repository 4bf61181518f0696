"""Torch: a loader becomes a recorded one when it is first iterated."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from detloader.interception.changes import Changes
from detloader.interception.session import adopt, note_places

__all__ = ["MODULE", "adopt_on_iteration", "install"]

MODULE = "torch.utils.data.dataloader"


def install(module: ModuleType, changes: Changes) -> None:
    """Change Torch's own loader, and thereby those that are derived from it."""
    adopt_on_iteration(module.DataLoader, changes)


def adopt_on_iteration(kind: Any, changes: Changes) -> None:
    """Let loaders of a class remember where they were made, and record what they deliver."""
    note_places(kind, changes)
    changes.replace(kind, "__iter__", _adopting)


def _adopting(iterate: Any) -> Any:
    @functools.wraps(iterate)
    def begin(loader: Any) -> Any:
        if vars(loader).get("_recording") is None:
            adopt(loader)
        return iterate(loader)

    return begin
