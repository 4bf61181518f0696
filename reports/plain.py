"""Text that a terminal shows as it is meant, at most 80 columns wide.

A column is a cell of the terminal: most letters take one, those of Japanese and emoji two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

__all__ = [
    "LONGEST",
    "WIDTH",
    "cells",
    "fitting",
    "grid",
    "listed",
    "plural",
    "printable",
    "shortened",
    "wrap",
]

WIDTH = 80

LONGEST = 1_000
"""Characters that people are shown of one text of somebody's own, such as a record ID."""


_MOST_MARKS = 8
"""Characters to a column at most, with the marks that combine with it; more are parted from it."""


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
    later = indent if hanging is None else hanging
    lines = [*_lines(printable(text).rstrip(), WIDTH - cells(indent), WIDTH - cells(later))]
    return "\n".join([f"{indent}{lines[0]}".rstrip(), *(f"{later}{line}" for line in lines[1:])])


def cells(text: str) -> int:
    """Return how many columns a printable text takes.

    >>> cells("abc"), cells("写真")
    (3, 4)
    """
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def fitting(text: str, room: int) -> str:
    """Return the beginning of a printable text that takes no more columns than these.

    >>> fitting("abc", 2), fitting("写真", 3)
    ('ab', '写')
    """
    if text.isascii():
        return text[:room]
    from rich.cells import chop_cells

    beginning = text[: _MOST_MARKS * room]
    return next(iter(chop_cells(beginning, room)), beginning)


def grid(columns: Mapping[str, list[str]], texts: Collection[str]) -> list[str]:
    """Return a line of headings and a line for each row, in columns.

    Args:
        columns: the cells of each column, all of one length.
        texts: columns that are set to the left; numbers are set to the right.

    >>> grid({"id": ["7", "12"], "name": ["a", "b"]}, {"name"})
    ['id  name', ' 7  a', '12  b']
    """
    shown = [[printable(cell) for cell in (name, *column)] for name, column in columns.items()]
    aligned = [
        [_aligned(text, width, left=name in texts) for text in column]
        for name, column in zip(columns, shown, strict=True)
        for width in [max(map(cells, column))]
    ]
    return ["  ".join(row).rstrip() for row in zip(*aligned, strict=True)]


def _aligned(text: str, width: int, *, left: bool) -> str:
    space = " " * (width - cells(text))
    return text + space if left else space + text


def _lines(text: str, room: int, later: int) -> Iterator[str]:
    """Yield lines of at most so many columns: the first, and later ones."""
    while len(line := fitting(text, room) or text[:1]) < len(text):
        line = _without_part(line, text[len(line) :], room)
        yield line.rstrip()
        text, room = text[len(line) :].lstrip(), later
    yield text


def _without_part(line: str, rest: str, room: int) -> str:
    """Return a line without the part of a word at its end, unless no line has room for the word."""
    before, space, part = line.rpartition(" ")
    word = part + rest.partition(" ")[0]
    return before if space and not rest.startswith(" ") and cells(word) <= room else line
