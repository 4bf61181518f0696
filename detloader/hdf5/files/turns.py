"""Threads make batches in turn; one that waits for storage lets another one in."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from threading import Lock

__all__ = ["Turn", "while_waiting"]

Waiting = Callable[[], AbstractContextManager[None]]

_waiting: ContextVar[Waiting] = ContextVar("waiting", default=contextlib.nullcontext)


class Turn:
    """A lock that its holder gives up for as long as it waits for storage.

    That threads change places for each block costs more than a block, with HDF5, which lets
    one in at a time, and without, where they compete for the interpreter.
    """

    def __init__(self) -> None:
        self._lock = Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    @contextlib.contextmanager
    def given_up(self) -> Iterator[None]:
        """Let others have it inside the block."""
        self._lock.release()
        try:
            with _waiting.get()():
                yield
        finally:
            self._lock.acquire()


@contextlib.contextmanager
def while_waiting(waiting: Waiting) -> Iterator[None]:
    """Enter what `waiting` gives whenever this thread gives up a turn inside the block."""
    token = _waiting.set(waiting)
    try:
        yield
    finally:
        _waiting.reset(token)
