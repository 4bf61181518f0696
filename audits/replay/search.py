"""The smallest sets of conditions that break a run: delta debugging, in a fixed order.

A set is tried at most once, and no more sets than the budget allows. The algorithm is ddmin
(Zeller and Hildebrandt 2002): what it returns breaks the run, and does so no longer when any
one of its members is left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

__all__ = ["BudgetSpentError", "Search"]

T = TypeVar("T")


class BudgetSpentError(Exception):
    """No further set may be tried."""


class Search(Generic[T]):
    """Tries sets of members, and remembers what came of each.

    Attributes:
        tried: whether each set broke the run, by the places of its members, in order of trial.
    """

    def __init__(
        self, members: Sequence[T], breaks: Callable[[Sequence[T]], bool], budget: int
    ) -> None:
        """Take the members in a fixed order, and the question to ask of a set.

        Args:
            members: what sets are made of.
            breaks: tells whether these members together break the run.
            budget: sets that may be tried.
        """
        self._members = members
        self._breaks = breaks
        self._budget = budget
        self.tried: dict[tuple[int, ...], bool] = {(): False}

    def know(self, place: int, *, breaks: bool) -> None:
        """Take over what is known of one member alone."""
        self.tried[(place,)] = breaks

    def minimal_sets(self, places: Sequence[int]) -> list[list[T]]:
        """Find sets of these members that break the run, disjoint and minimal.

        Raises:
            BudgetSpentError: there may be more than were found.
        """
        found: list[list[T]] = []
        left = tuple(places)
        while self.broken(left):
            smallest = self.minimise(left)
            found.append([self._members[place] for place in smallest])
            left = tuple(place for place in left if place not in smallest)
        return found

    def broken(self, places: tuple[int, ...]) -> bool:
        """Tell whether a set breaks the run.

        Raises:
            BudgetSpentError: the set was not tried yet, and none may be.
        """
        if places not in self.tried:
            if self._budget <= 0:
                raise BudgetSpentError
            self._budget -= 1
            self.tried[places] = self._breaks([self._members[place] for place in places])
        return self.tried[places]

    def minimise(self, places: tuple[int, ...]) -> tuple[int, ...]:
        """Reduce a set that breaks the run until none of its members can be left out."""
        pieces = 2
        while len(places) > 1:
            smaller = self._smaller(places, pieces)
            if smaller is not None:
                places, pieces = smaller
            elif pieces < len(places):
                pieces = min(2 * pieces, len(places))
            else:
                break
        return places

    def _smaller(self, places: tuple[int, ...], pieces: int) -> tuple[tuple[int, ...], int] | None:
        """Try each piece, then all but each piece; return the first that breaks the run."""
        cuts = [len(places) * piece // pieces for piece in range(pieces + 1)]
        spans = list(itertools.pairwise(cuts))
        for start, stop in spans:
            if self.broken(places[start:stop]):
                return places[start:stop], 2
        for start, stop in spans if pieces > 2 else []:  # noqa: PLR2004 - of two, each is the rest
            if self.broken(places[:start] + places[stop:]):
                return places[:start] + places[stop:], max(pieces - 1, 2)
        return None
