"""Colours for text on a terminal; they change no letter."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from detloader.findings import Severity, Verdict

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["COLORS", "Span", "leave", "paint"]

Span = tuple[int, int, str]
"""Where a style begins, where it ends, and the style in the words of rich."""

COLORS: dict[str, str] = {
    Verdict.IDENTICAL: "green",
    Verdict.EQUIVALENT: "green",
    Verdict.CLEAN: "green",
    Verdict.REGROUPED: "red",
    Verdict.REORDERED: "red",
    Verdict.CHANGED: "red",
    Verdict.FINDINGS: "red",
    Verdict.INCONCLUSIVE: "yellow",
    Severity.FAIL: "red",
    Severity.WARN: "yellow",
    Severity.NOTE: "cyan",
}


def paint(text: str, *spans: Span) -> str:
    """Return the text with escape codes for the styles of its spans."""
    from rich.text import Text

    styled = Text(text)
    for start, end, style in spans:
        styled.stylize(style, start, end)
    console = _console()
    with console.capture() as captured:
        console.print(styled, soft_wrap=True, end="")
    return captured.get()


def leave(text: str, *_: Span) -> str:
    """Return the text as it is."""
    return text


@functools.cache
def _console() -> Console:
    from rich.console import Console

    # The sixteen colours that every terminal has, in the shades that its user chose.
    return Console(force_terminal=True, color_system="standard", no_color=False, width=1000)
