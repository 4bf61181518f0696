"""Text that a terminal shows as it is meant, at most 80 columns wide."""

from __future__ import annotations

import textwrap

__all__ = ["WIDTH", "listed", "plural", "printable", "wrap"]

WIDTH = 80


def printable(text: str) -> str:
    r"""Return the text with everything escaped that is not meant to be seen.

    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


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
