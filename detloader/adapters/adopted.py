"""A loader that becomes its own twin, until it is released.

What a trainer keeps of the loader, such as its state, then stays true.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

__all__ = ["Adopted"]


class Adopted:
    """Gives a loader its own class back when it is called, if the loader is still there."""

    def __init__(self, loader: Any, twin: Any) -> None:
        """Let a loader be what its twin is: of the twin's class, and recorded with it."""
        self._loader = ref(loader)
        self._kind = type(loader)
        vars(loader).update(vars(twin))
        loader.__class__ = type(twin)

    def __call__(self) -> None:
        """Release the loader."""
        loader: Any = self._loader()
        if loader is not None:
            loader.__class__ = self._kind
            vars(loader).pop("_recording", None)
