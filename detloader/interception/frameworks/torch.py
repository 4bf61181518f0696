"""Torch: a loader becomes a recorded one when it is first iterated."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from detloader.interception.session import adopt, note_places

__all__ = ["MODULE", "adopt_on_iteration", "install"]

MODULE = "torch.utils.data.dataloader"


def install(module: ModuleType) -> None:
    """Change Torch's own loader, and thereby those that are derived from it."""
    adopt_on_iteration(module.DataLoader)


def adopt_on_iteration(kind: Any) -> None:
    """Let loaders of a class remember where they were made, and record what they deliver."""
    note_places(kind)
    iterate = kind.__iter__

    @functools.wraps(iterate)
    def begin(loader: Any) -> Any:
        if vars(loader).get("_recording") is None:
            adopt(loader)
        return iterate(loader)

    kind.__iter__ = begin
