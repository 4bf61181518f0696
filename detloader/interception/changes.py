"""Changes to the classes of frameworks, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["Changes"]

_INHERITED = object()


class _Change(NamedTuple):
    """One attribute of a class, before and after."""

    kind: Any
    name: str
    before: object
    after: object


class Changes:
    """What was changed, so that it can be undone."""

    def __init__(self) -> None:
        self._made: list[_Change] = []

    def replace(self, kind: Any, name: str, wrapped: Callable[[Any], object]) -> None:
        """Put what a function makes of a class's method in the method's place."""
        self.put(kind, name, wrapped(getattr(kind, name)))

    def put(self, kind: Any, name: str, after: object) -> None:
        """Put something in the place of a class's attribute, or where it has none."""
        self._made.append(_Change(kind, name, vars(kind).get(name, _INHERITED), after))
        setattr(kind, name, after)

    def undo(self) -> None:
        """Leave all classes as they were; what somebody else changed since then stays."""
        while self._made:
            kind, name, before, after = self._made.pop()
            if vars(kind).get(name) is not after:
                continue
            if before is _INHERITED:
                delattr(kind, name)
            else:
                setattr(kind, name, before)
