"""The reports: a result as people and as machines read it.

A format is a module of this package with a `render`; it gets a result, gives
text, and knows nothing of runs, files or terminals.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from types import ModuleType

    from detloader.findings import Result

__all__ = ["Render", "formats", "headline", "render"]


class Render(Protocol):
    """What a format offers."""

    def __call__(self, result: Result, *, limit: int = 10, color: bool = False) -> str:
        """Return the report, ending with a line end."""
        ...


@functools.cache
def formats() -> list[str]:
    """Return the names of all formats."""
    modules = [module.name for module in pkgutil.iter_modules(__path__)]
    return sorted(name for name in modules if hasattr(_module(name), "render"))


def render(name: str, result: Result, *, limit: int = 10, color: bool = False) -> str:
    """Return a result in a format.

    Args:
        name: one of `formats()`.
        result: what an audit or a check gave.
        limit: items of a list that text shows before it says how many more there are.
        color: whether escape codes for colours may be used.
    """
    function = cast("Render", _module(name).render)
    return function(result, limit=limit, color=color)


def headline(result: Result) -> str:
    """Return the answer in one line, with what was decided about it."""
    from detloader.reports.sentences import decision, headline

    return "; ".join(filter(None, (headline(result), decision(result))))


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{name}")
