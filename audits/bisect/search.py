"""Where along a list something changes, in as few trials as there can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["Boundary", "find_boundary"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Boundary(Generic[T]):
    """Two neighbours that differ, but for those between them that could not be tried.

    Attributes:
        same: the last item that is known to be as the first.
        different: the first that is known to differ; None where the last that was tried does not.
    """

    same: T
    different: T | None


def find_boundary(items: Sequence[T], differs: Callable[[T], bool | None]) -> Boundary[T]:
    """Find where a list begins to differ from its first item, which is not tried itself.

    It takes as many trials as the number of items has bits: 4 for 10. Of a list that changes
    to and fro, it finds one of the changes.

    Args:
        items: in their order, at least one.
        differs: tells whether an item differs from the first; None where it cannot be tried.
    """
    same, different = 0, len(items)
    untried: set[int] = set()
    while left := [place for place in range(same + 1, different) if place not in untried]:
        place = left[len(left) // 2]
        answer = differs(items[place])
        if answer is None:
            untried.add(place)
        elif answer:
            different = place
        else:
            same = place
    return Boundary(items[same], items[different] if different < len(items) else None)
