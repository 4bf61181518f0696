"""The longest increasing subsequence, by patience sorting.

`tails[k]` is the least value that an increasing subsequence of k + 1 values so far ends in;
each value takes the place of the first tail that is not less than it.

Where tails are few, as in random orders, most values of a short block lie between tails that
no other value of the block touches: these take their places all at once.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import slices

if TYPE_CHECKING:
    import numpy.typing as npt

    from detloader.audits.columns import Flags, Integers

__all__ = ["longest_increasing"]

FEW = range(768, 2**15)
"""Tails with which blocks are the faster way; a random order of n values has 2 sqrt(n)."""

BLOCK_SHARE = 6
"""Tails for each value of a block: with fewer, values meet; with more, blocks are short."""

ABOVE_ALL = np.iinfo(np.int64).max


def longest_increasing(values: Integers) -> int:
    """Give the length of the longest strictly increasing subsequence; below 2**63 - 1 each."""
    tails: list[int] = []
    settled = 0
    for rows, lowest in zip(slices(len(values)), _lowest_from(values), strict=True):
        # Tails below all values to come stay as they are: of whole epochs, for one.
        final = bisect_left(tails, lowest)
        settled += final
        del tails[:final]
        if len(tails) in FEW:
            tails = _take_blocks(tails, values[rows])
        else:
            _take_each(tails, values[rows].tolist())
    return settled + len(tails)


def _lowest_from(values: Integers) -> list[int]:
    """Give for each slice the least value that it and those after it have."""
    lowest = np.array([values[rows].min() for rows in slices(len(values))], np.int64)
    ahead: list[int] = np.minimum.accumulate(lowest[::-1])[::-1].tolist()
    return ahead


def _take_each(tails: list[int], values: list[int]) -> None:
    for value in values:
        if not tails or value > tails[-1]:
            tails.append(value)
        else:
            tails[bisect_left(tails, value)] = value


def _take_blocks(tails: list[int], values: Integers) -> list[int]:
    count, start = len(tails), 0
    room = array("q", [*tails, *[ABOVE_ALL] * len(tails)])
    while start < len(values):
        block = values[start : start + count // BLOCK_SHARE + 1]
        start += len(block)
        if count + len(block) > len(room):
            room = room + array("q", [ABOVE_ALL]) * len(room)
        count = _take_block(room, count, block)
    return room[:count].tolist()


def _take_block(room: array[int], count: int, block: Integers) -> int:
    """Let the values of a block take their places; give how many tails there are then."""
    tails = np.frombuffer(room, np.int64)
    low = tails[:count].searchsorted(block)
    reach = _reach(low, count)
    alone: Flags = (reach[low] == 1) & (low < count)
    tails[low[alone]] = block[alone]
    rest = ~alone
    lows, highs = low[rest], (low + reach[low])[rest]
    for value, first, last in zip(block[rest].tolist(), lows.tolist(), highs.tolist(), strict=True):
        room[bisect_left(room, value, first, last)] = value
    return int(tails.searchsorted(ABOVE_ALL)) if reach[count] else count


def _reach(low: npt.NDArray[np.intp], count: int) -> npt.NDArray[np.intp]:
    """Tell for each gap between tails how many places upwards its values may be pushed, at most.

    Of the values that come to a gap, with those that are pushed up from below, one takes the
    place of the tail above; the others may be pushed on.
    """
    reach = np.bincount(low, minlength=count + 1)
    pushed = np.cumsum(reach - 1)
    pushed -= np.minimum(np.minimum.accumulate(pushed), 0)
    reach[1:] += pushed[:-1]
    return reach
