"""Detloader's own streams, which Grain does not put its node on top of."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from detloader.interception.frameworks.grain import replaced
from detloader.interception.session import note_place

__all__ = ["MODULE", "install"]

MODULE = "detloader.fused"


def install(module: ModuleType) -> None:
    """Change the stream of `to_grain`."""
    kind: Any = module.BatchStream
    init = kind.__init__

    @functools.wraps(init)
    def initialise(stream: Any, *arguments: Any, **options: Any) -> None:
        init(stream, *arguments, **options)
        note_place(stream)

    kind.__init__ = initialise
    kind.__iter__ = replaced(kind.__iter__, lambda stream: stream)
