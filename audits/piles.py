"""Piles of patience sorting that take a block of values at a time.

`tails[k]` is the least value that an increasing subsequence of k + 1 values so far ends in;
each value takes the place of the first tail that is not less than it. Most values of a short
block lie between tails that no other value of the block comes near: these take their places
all at once.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detloader.audits.columns import Integers

__all__ = ["BLOCK_SHARE", "WIDEST", "Piles"]

BLOCK_SHARE = 5
"""Piles for each value of a block: with fewer, values meet; with more, blocks are short."""

RANK = 16
"""Bits of a value's rank in its block."""

WIDEST = 2 ** (62 - RANK)
"""Number below which a value and its rank are one integer."""

SPARE = 64
"""Places that are left free for each part, besides as many as it has tails."""


class Piles:
    """The tails of several parts, part by part in one array that ascends.

    Behind the tails of each part are free places, which hold a number between all values of
    this part and all of the next.
    """

    def __init__(self, tails: Sequence[Sequence[int]], above: Sequence[int]) -> None:
        """Take the tails that each part has already, and the number above its values."""
        self._above = np.array(above, np.int64)
        self._lay_out(tails)

    def _lay_out(self, tails: Sequence[Sequence[int]]) -> None:
        places = array("q")
        starts = []
        for own, above in zip(tails, self._above.tolist(), strict=True):
            starts.append(len(places))
            places.extend([*own, *[above] * (len(own) + SPARE)])
        self._places = places
        self._array = np.frombuffer(places, np.int64)
        self._starts = np.array(starts)
        self._ends = np.array([*starts[1:], len(places)])

    def tails(self) -> list[list[int]]:
        """Give the tails of each part."""
        ends = self._array.searchsorted(self._above)
        return [
            self._array[start:end].tolist() for start, end in zip(self._starts, ends, strict=True)
        ]

    def make_room(self, lengths: Sequence[int]) -> None:
        """Make sure that each part has free places for so many more tails, and one besides."""
        if (self._array.searchsorted(self._above) + lengths >= self._ends).any():
            self._lay_out(self.tails())

    def take(self, block: Integers) -> None:
        """Let values take their places, part by part as the parts are; each from 0 to WIDEST."""
        tails = self._array
        rank = np.arange(len(block))
        ordered = np.sort((block << RANK) | rank)
        value, turn = ordered >> RANK, ordered & (2**RANK - 1)
        low = tails.searchsorted(value)
        # A lesser value may push it up by one place, and that again by another one.
        high = np.maximum.accumulate(low - rank) + rank
        begins = np.ones(len(block) + 2, np.bool_)
        begins[1:-2] = low[1:] > high[:-1]
        alone = begins[:-2] & begins[1:-1]
        pair = np.flatnonzero(begins[:-2] & ~begins[1:-1] & begins[2:])
        tails[low[alone]] = value[alone]
        tails[low[pair]] = value[pair]
        pushed = pair[(turn[pair] < turn[pair + 1]) & (value[pair] < value[pair + 1])]
        tails[low[pushed] + 1] = value[pushed + 1]
        alone[pair] = alone[pair + 1] = True
        rest = np.flatnonzero(~alone)
        rest = rest[np.argsort(turn[rest])]
        self._take_each(value[rest].tolist(), low[rest].tolist(), high[rest].tolist())

    def _take_each(self, values: list[int], low: list[int], high: list[int]) -> None:
        places = self._places
        for value, first, last in zip(values, low, high, strict=True):
            places[bisect_left(places, value, first, last)] = value
