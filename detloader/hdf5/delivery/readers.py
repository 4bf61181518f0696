"""Threads that make batches in the order in which they are asked for."""

from __future__ import annotations

import contextlib
import functools
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any

from detloader.hdf5.files.turns import while_waiting

__all__ = ["Readers"]

_HANDFUL_SECONDS = 2e-3
"""What a batch that is ready may wait for others."""


class Readers:
    """As many threads as wait for storage, and one more.

    Threads that find what they read in memory would only change places. So there is one,
    until it waits.
    """

    def __init__(self, make: Callable[[int], Any], most: int) -> None:
        """Make batches by `make`, with at most `most` threads."""
        self._make = make
        self._most = most
        self._pool = ThreadPoolExecutor(most, thread_name_prefix="detloader-reader")
        self._lock = Lock()
        self._asked: deque[tuple[int, Future[Any]]] = deque()
        self._at_work = 0
        self._waiting = 0

    def ask(self, number: int) -> Future[Any]:
        """Have a batch made."""
        future: Future[Any] = Future()
        with self._lock:
            self._asked.append((number, future))
            self._call()
        return future

    def forget(self) -> None:
        """Make nothing of what was asked for and was not begun."""
        with self._lock:
            self._asked.clear()

    def close(self) -> None:
        """Forget, and let the threads end."""
        self.forget()
        self._pool.shutdown(wait=False)

    def _call(self) -> None:
        """Call a thread to work, where none is at it but those that wait."""
        if self._asked and self._at_work == self._waiting < self._most:
            self._at_work += 1
            self._pool.submit(self._work)

    def _work(self) -> None:
        handing = _Handing()
        with while_waiting(functools.partial(self._wait, handing)):
            while (asked := self._next()) is not None:
                number, future = asked
                try:
                    batch = self._make(number)
                except BaseException as error:  # noqa: BLE001  # raised where it is waited for
                    handing.over()
                    future.set_exception(error)
                else:
                    handing.take(future, batch)
            handing.over()

    def _next(self) -> tuple[int, Future[Any]] | None:
        with self._lock:
            others = self._at_work - self._waiting - 1
            if self._asked and not others:
                return self._asked.popleft()
            self._at_work -= 1
            return None

    @contextlib.contextmanager
    def _wait(self, handing: _Handing) -> Iterator[None]:
        handing.over()
        with self._lock:
            self._waiting += 1
            self._call()
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1


class _Handing:
    """Hands batches over in handfuls: to wake who waits costs as much as a small batch."""

    def __init__(self) -> None:
        self._made: list[tuple[Future[Any], Any]] = []
        self._since = 0.0

    def take(self, future: Future[Any], batch: Any) -> None:
        self._made.append((future, batch))
        if time.monotonic() - self._since > _HANDFUL_SECONDS:
            self.over()

    def over(self) -> None:
        for future, batch in self._made:
            future.set_result(batch)
        self._made.clear()
        self._since = time.monotonic()
