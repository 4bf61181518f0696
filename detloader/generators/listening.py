"""A generator that tells of every number that is drawn of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Draw", "ListeningGenerator"]


@dataclass(frozen=True, slots=True)
class Draw:
    """One call of a generator.

    Attributes:
        method: its name, such as "normal".
        arguments: what it was called with, as Python writes it.
        value: what it returned; None of those that change their argument in place.
    """

    method: str
    arguments: str
    value: Any


class ListeningGenerator(np.random.Generator):
    """A generator that writes down what is drawn of it; its numbers are those of any other."""

    def __init__(self, bit_generator: np.random.BitGenerator, draws: list[Draw]) -> None:
        """Say of what to draw, and where to write it down."""
        super().__init__(bit_generator)
        self._draws = draws
        self._busy = False

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name.startswith("_") or name in {"bit_generator", "spawn"} or not callable(found):
            return found
        return self._heard(name, found)

    def _heard(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def drawn(*arguments: Any, **options: Any) -> Any:
            if self._busy:
                return method(*arguments, **options)  # one method may call another
            # Written down before the call: a shuffle changes its argument.
            given = [repr(value) for value in arguments]
            given += [f"{key}={value!r}" for key, value in options.items()]
            self._busy = True
            try:
                value = method(*arguments, **options)
            finally:
                self._busy = False
            # A copy: who drew an array may change it.
            kept = value.copy() if isinstance(value, np.ndarray) else value
            self._draws.append(Draw(name, ", ".join(given), kept))
            return value

        return drawn
