"""HTML: one page that needs no other file, no network and no script."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detloader.findings import Result

__all__ = ["render"]


def render(result: Result, *, limit: int = 10, color: bool = False) -> str:  # noqa: ARG001 - a page has its own colours
    """Return the page; equal results give equal bytes.

    Args:
        result: what an audit or a check gave. Pictures are drawn where it has their data.
        limit: items of a list that are shown before it says how many more there are.
        color: of no use here.
    """
    from detloader.reports.html.page import page

    return page(result, limit)
