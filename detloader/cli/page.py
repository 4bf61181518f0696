"""A rule's page, as a terminal shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detloader.reports.plain import cells, printable, wrap

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["page_text"]


def page_text(page: str) -> str:
    """Return a page of Markdown without its marks, at most 80 columns wide.

    Examples are indented by four, and stay as they are.
    """
    return "\n\n".join("\n".join(_shown(block)) for block in page.strip().split("\n\n"))


def _shown(block: str) -> Iterator[str]:
    if block.startswith("    "):
        yield from map(printable, block.splitlines())
        return
    heading = block.lstrip("#")
    if heading != block:
        yield from (wrap(heading.strip()), "-" * cells(heading.strip()))
        return
    for item in _items(block):
        yield wrap(" ".join(item.split()), hanging="  " if item.startswith("- ") else "")


def _items(block: str) -> list[str]:
    """Return the items of a list; a paragraph is one."""
    lines = block.splitlines()
    starts = [place for place, line in enumerate(lines) if not place or line.startswith("- ")]
    ends = [*starts[1:], len(lines)]
    return ["\n".join(lines[start:end]) for start, end in zip(starts, ends, strict=True)]
