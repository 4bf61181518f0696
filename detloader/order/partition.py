"""Contiguous parts of a list, one for each worker.

Parts are ranges of positions. How the last few records fare is all that tells
the two functions apart, and it decides whether a loader keeps every record.
"""

from __future__ import annotations

from itertools import pairwise

from detloader.errors import UsageError

__all__ = ["contiguous", "contiguous_floor"]


def contiguous(size: int, parts: int) -> list[range]:
    """Cut range(size) into contiguous parts that together hold every position.

    The first size mod parts of them hold one position more than the others.

    Args:
        size: positions to share out.
        parts: parts wanted; no more than `size` are made, so that none is empty.

    Returns:
        min(parts, size) ranges in ascending order.

    Raises:
        UsageError: size is negative, or parts is below 1.
    """
    parts = _checked(size, parts)
    length, longer = divmod(size, max(parts, 1))
    edges = [part * length + min(part, longer) for part in range(parts + 1)]
    return [range(start, stop) for start, stop in pairwise(edges)]


def contiguous_floor(size: int, parts: int) -> list[range]:
    """Cut range(size) into equal contiguous parts, and leave the remainder in none.

    This is the implicit partitioning of helia-edge 0.6.2 and earlier: the last
    size mod parts positions never come, in any epoch, and nothing says so.

    Args:
        size: positions to share out.
        parts: parts wanted; no more than `size` are made.

    Returns:
        min(parts, size) ranges of size // min(parts, size) positions, in ascending order.

    Raises:
        UsageError: size is negative, or parts is below 1.
    """
    parts = _checked(size, parts)
    length = size // max(parts, 1)
    return [range(part * length, (part + 1) * length) for part in range(parts)]


def _checked(size: int, parts: int) -> int:
    if size < 0:
        raise UsageError(f"size is {size}; give the number of records, 0 or more")
    if parts < 1:
        raise UsageError(f"parts is {parts}; give 1 or more")
    return min(parts, size)
