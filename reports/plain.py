"""Text that a terminal shows as it is meant, at most 80 columns wide."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["WIDTH", "grid", "listed", "plural", "printable", "shortened", "wrap"]

WIDTH = 80


def printable(text: str) -> str:
    r"""Return the text with everything escaped that is not meant to be seen.

    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shortened(text: str, most: int) -> str:
    """Return the text with everything escaped that is not meant to be seen, and not without end.

    >>> shortened("abc" * 1000, 3)
    'abc… (3,000 characters)'
    """
    if len(text) <= most:
        return printable(text)
    return f"{printable(text[:most])}… ({len(text):,} characters)"


def plural(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> plural(1, "row"), plural(12000, "row")
    ('1 row', '12,000 rows')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(items: list[str], limit: int) -> str:
    """Return the first items, and how many more there are.

    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    if not items:
        return "none"
    if len(items) <= limit:
        return ", ".join(items)
    return f"{', '.join(items[:limit])} and {len(items) - limit:,} more"


def wrap(text: str, *, indent: str = "", hanging: str | None = None) -> str:
    """Return printable text in lines of at most 80 columns.

    Args:
        text: what to say.
        indent: what the first line begins with.
        hanging: what the others begin with, where that is something else.
    """
    return textwrap.fill(
        printable(text),
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent if hanging is None else hanging,
        break_on_hyphens=False,
    )


def grid(columns: Mapping[str, list[str]], texts: Collection[str]) -> list[str]:
    """Return a line of headings and a line for each row, in columns.

    Args:
        columns: the cells of each column, all of one length.
        texts: columns that are set to the left; numbers are set to the right.

    >>> grid({"id": ["7", "12"], "name": ["a", "b"]}, {"name"})
    ['id  name', ' 7  a', '12  b']
    """
    shown = [[printable(cell) for cell in (name, *cells)] for name, cells in columns.items()]
    aligned = [
        [cell.ljust(width) if name in texts else cell.rjust(width) for cell in cells]
        for name, cells in zip(columns, shown, strict=True)
        for width in [max(map(len, cells))]
    ]
    return ["  ".join(row).rstrip() for row in zip(*aligned, strict=True)]
