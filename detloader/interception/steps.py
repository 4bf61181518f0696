"""The steps of a generator, in which it has sessions that its caller has not."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from detloader.interception.session import Session, sessions_of_context

__all__ = ["Steps"]


class Steps(Generator[Any, Any, Any]):
    """A generator whose sessions wait when it does.

    What runs between its steps is its caller's: a context variable that it sets stays set there.
    """

    def __init__(self, generator: Generator[Any, Any, Any]) -> None:
        """Take the generator, which begins sessions of its own."""
        self._generator = generator
        self._own: tuple[Session, ...] = ()

    def send(self, value: Any) -> Any:
        """Run the next step."""
        return self._run(self._generator.send, value)

    def throw(self, *error: Any) -> Any:
        """Raise an error where the generator waits."""
        return self._run(self._generator.throw, *error)

    def close(self) -> None:
        """End the generator."""
        self._run(self._generator.close)

    def _run(self, step: Callable[..., Any], *arguments: Any) -> Any:
        before = sessions_of_context.get()
        for session in self._own:
            session.waits = False
        token = sessions_of_context.set((*before, *self._own))
        try:
            return step(*arguments)
        finally:
            known = sessions_of_context.get()
            self._own = tuple(session for session in known if session not in before)
            for session in self._own:
                session.waits = True
            sessions_of_context.reset(token)
