"""What the headers of two streams tell before a row is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detloader.manifest.schema import is_compared, is_stored

if TYPE_CHECKING:
    from detloader.manifest.reader import Stream

__all__ = ["hidden_differences", "not_compared", "unequal_digests"]


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
