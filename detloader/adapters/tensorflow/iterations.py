"""Which iteration of a dataset an element belongs to, where several may be alive at once."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Iteration", "Iterations"]


@dataclass(slots=True)
class Iteration:
    """One iteration.

    Attributes:
        since: what the reader wanted to know of its beginning.
        first_epoch: its first epoch, in the run's count.
        number: elements that it delivered.
    """

    since: Any
    first_epoch: int = -1
    number: int = 0


class Iterations:
    """Gives each iteration a token, and the epochs that follow those before it."""

    def __init__(self, begin: Callable[[], Any]) -> None:
        self._begin = begin
        self._alive: dict[int, Iteration] = {}
        self._next_epoch = 0
        self._counting = threading.Lock()

    def begin(self) -> int:
        """Return the token of a new iteration, which no other one in this process has."""
        token = next(_tokens)
        self._alive[token] = Iteration(self._begin())
        return token

    def begin_again(self, token: int) -> None:
        """Let an iteration be a new one, under its token."""
        self._alive[token] = Iteration(self._begin())

    def has_delivered(self, token: int) -> bool:
        """Tell whether an element of an iteration was counted."""
        return self._alive[token].number > 0

    def step(self, token: int) -> Iteration:
        """Return the iteration of an element that is delivered."""
        iteration = self._alive[token]
        if not iteration.number:
            # Not before the first element: an iterator may be made and never used.
            with self._counting:
                iteration.first_epoch = self._next_epoch
                self._next_epoch += 1
        return iteration

    def done(self, iteration: Iteration, last_epoch: int) -> None:
        """Count an element that was read."""
        iteration.number += 1
        with self._counting:
            self._next_epoch = max(self._next_epoch, last_epoch + 1)


_tokens = itertools.count()
