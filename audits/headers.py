"""What the headers of two streams tell before a row is read."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from detloader.manifest.schema import is_compared, is_stored

if TYPE_CHECKING:
    from detloader.manifest.reader import Rank, Stream

__all__ = ["hidden_differences", "not_compared", "unequal_blocks", "unequal_digests"]


def unequal_digests(a: Stream, b: Stream) -> list[str] | None:
    """Name the compared columns of both streams whose digests differ; None while one is open."""
    digests_a, digests_b = a.digests, b.digests
    if digests_a is None or digests_b is None:
        return None
    return [
        name
        for name, digests in digests_a.items()
        if is_compared(name) and name in digests_b and digests != digests_b[name]
    ]


def hidden_differences(a: Stream, b: Stream) -> list[str]:
    """Name the columns whose digests differ and whose rows one of the streams did not keep."""
    return [
        name
        for name in unequal_digests(a, b) or []
        if not (is_stored(name, a.level) and is_stored(name, b.level))
    ]


def not_compared(a: Stream, b: Stream) -> list[str]:
    """Name the columns of one stream only, and those that are never compared."""
    columns_a, columns_b = a.columns, b.columns
    return [
        name
        for name in dict.fromkeys([*columns_a, *columns_b])
        if not (is_compared(name) and name in columns_a and name in columns_b)
    ]


def unequal_blocks(a: Stream, b: Stream) -> list[int] | None:
    """Number the blocks of rows, ascending, in which a compared column differs.

    None where headers do not tell: unless each is one sealed rank with the same columns,
    and one ends before the other only where its run does.
    """
    if len(a.ranks) != 1 or len(b.ranks) != 1:
        return None
    blocks_a, blocks_b = _blocks(a.ranks[0]), _blocks(b.ranks[0])
    if not (blocks_a and blocks_b) or blocks_a.keys() != blocks_b.keys():
        return None
    if a.rows != b.rows and not (a.complete and b.complete):
        return None
    unequal: set[int] = set()
    for name, blocks in blocks_a.items():
        if is_stored(name, a.level) and is_stored(name, b.level):
            pairs = zip_longest(blocks, blocks_b[name])
            unequal |= {block for block, (left, right) in enumerate(pairs) if left != right}
    return sorted(unequal)


def _blocks(rank: Rank) -> dict[str, list[str]]:
    """Give the digests of the blocks of each compared column; none while the rank is open."""
    if rank.header.state != "complete":
        return {}
    return {
        column.name: column.blocks for column in rank.header.columns if is_compared(column.name)
    }
