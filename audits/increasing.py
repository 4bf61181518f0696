"""The longest increasing subsequence, by patience sorting.

Where all values so far are less than all to come, as between epochs, another part begins. Each
part has piles of its own, and parts take their values side by side.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import slices
from detloader.audits.piles import BLOCK_SHARE, WIDEST, Piles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from detloader.audits.columns import Integers

__all__ = ["longest_increasing"]

ROWS = 2**16
"""Rows of a part at least, and those that each part takes in a turn."""

FEW = range(768, 2**15)
"""Piles of all parts with which blocks are the faster way; n random values have 2 sqrt(n)."""


def longest_increasing(values: Integers) -> int:
    """Give the length of the longest strictly increasing subsequence; below 2**63 - 1 each."""
    if not len(values):
        return 0
    low = int(values.min())
    # One more for each part, so that there is a number between any two of them.
    parts = [_Part(values[rows], number - low) for number, rows in enumerate(_parts(values))]
    in_blocks = int(values.max()) - low + len(parts) < WIDEST
    for turn in range(max(len(part.lowest) for part in parts)):
        taking = [part for part in parts if turn < len(part.lowest)]
        for part in taking:
            part.settle(turn)
        if in_blocks and sum(len(part.tails) for part in taking) in FEW:
            _take_blocks(taking, turn)
        else:
            for part in taking:
                part.take_each(turn)
    return sum(part.settled + len(part.tails) for part in parts)


def _parts(values: Integers) -> Iterator[slice]:
    """Cut values where all before are less than all behind, into parts that are worth it."""
    start = 0
    for borders in _borders(values):
        while (place := np.searchsorted(borders, start + ROWS)) < len(borders):
            border = int(borders[place])
            yield slice(start, border)
            start = border
    yield slice(start, len(values))


def _borders(values: Integers) -> Iterator[Integers]:
    """Yield the rows before which all values are less than all from there on, some at a time."""
    highest = int(values[0]) - 1
    lowest = _lowest_from(values)
    for rows, behind in zip(slices(len(values), size=ROWS), [*lowest[1:], None], strict=True):
        some = values[rows]
        if behind is None or highest < behind:
            before = np.maximum.accumulate(np.append(highest, some[:-1]))
            ahead = np.minimum.accumulate(some[::-1])[::-1]
            borders = before < (ahead if behind is None else np.minimum(ahead, behind))
            yield np.flatnonzero(borders) + rows.start
        highest = max(highest, int(some.max()))


def _lowest_from(values: Integers) -> list[int]:
    """Give for each turn the least value that it and those after it have."""
    lowest = np.array([values[rows].min() for rows in slices(len(values), size=ROWS)], np.int64)
    ahead: list[int] = np.minimum.accumulate(lowest[::-1])[::-1].tolist()
    return ahead


class _Part:
    """Values that are all greater than those of the part before.

    Attributes:
        lowest: for each turn, the least value that it and those after it have.
        above: a number above all values.
        tails: the values on top of the piles, ascending.
        settled: how many piles there are below all values to come.
    """

    def __init__(self, values: Integers, shift: int) -> None:
        self._values = values
        self._shift = shift
        self.lowest = _lowest_from(values)
        self.above = int(values.max()) + shift + 1
        self.tails: list[int] = []
        self.settled = 0

    def of_turn(self, turn: int) -> Integers:
        """Give the values of a turn."""
        return self._values[turn * ROWS : (turn + 1) * ROWS].astype(np.int64) + self._shift

    def settle(self, turn: int) -> None:
        """Let go of the piles that no value takes any more."""
        final = bisect_left(self.tails, self.lowest[turn] + self._shift)
        self.settled += final
        del self.tails[:final]

    def take_each(self, turn: int) -> None:
        """Take the values of a turn one by one."""
        tails = self.tails
        for value in self.of_turn(turn).tolist():
            if not tails or value > tails[-1]:
                tails.append(value)
            else:
                tails[bisect_left(tails, value)] = value


def _take_blocks(parts: list[_Part], turn: int) -> None:
    """Take the values of a turn, a block of each part at a time."""
    piles = Piles([part.tails for part in parts], [part.above for part in parts])
    values = [part.of_turn(turn) for part in parts]
    lengths = [len(part.tails) // BLOCK_SHARE + 1 for part in parts]
    blocks = max(-(-len(some) // length) for some, length in zip(values, lengths, strict=True))
    for number in range(blocks):
        piles.make_room(lengths)
        piles.take(
            np.concatenate(
                [
                    some[number * length : (number + 1) * length]
                    for some, length in zip(values, lengths, strict=True)
                ]
            )
        )
    for part, tails in zip(parts, piles.tails(), strict=True):
        part.tails = tails
