"""Torch: a loader becomes a recorded one when it is first iterated."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from detloader.interception.aside import is_aside
from detloader.interception.changes import Changes
from detloader.interception.session import adopt, note_places

__all__ = ["MODULE", "adopt_on_iteration", "adopt_unless_recorded", "install"]

MODULE = "torch.utils.data.dataloader"


def install(module: ModuleType, changes: Changes) -> None:
    """Change Torch's own loader, and thereby those that are derived from it."""
    adopt_on_iteration(module.DataLoader, changes)


def adopt_on_iteration(kind: Any, changes: Changes) -> None:
    """Let loaders of a class remember where they were made, and record what they deliver."""
    note_places(kind, changes)
    changes.replace(kind, "__iter__", _adopting)


def adopt_unless_recorded(loader: Any) -> None:
    """Let a loader record what it delivers from here on, if it does not."""
    if vars(loader).get("_recording") is None:
        adopt(loader)


def _adopting(iterate: Any) -> Any:
    @functools.wraps(iterate)
    def begin(loader: Any) -> Any:
        adopt_unless_recorded(loader)
        recording = vars(loader).get("_recording")
        if recording is None or not is_aside():
            return iterate(loader)
        recording.looks = False
        try:
            return iterate(loader)
        finally:
            recording.looks = True

    return begin
