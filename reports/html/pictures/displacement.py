"""Draws how far records moved, along the baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detloader.reports.html.drawing import INK, RUN, counts, drawn, number, shade, ticks

if TYPE_CHECKING:
    from detloader.findings import Picture

__all__ = ["KEY", "draw"]

KEY = "Above the line records come later than in the baseline, below it earlier; stronger is more."


def draw(picture: Picture, name: str) -> str:
    """Give a map of distances against rows; those that did not move lie on the line."""
    cells = counts(picture.rows[::-1], 1)
    half = len(cells) // 2
    step = number(picture, "step")
    with drawn(name, height=2.3) as drawing:
        (axes,) = drawing.axes
        shade(axes, cells, RUN, float(cells.max()))
        axes.axhline(half + 0.5, color=INK, linewidth=0.8)
        ticks(axes, across=number(picture, "rows"))
        shown = range(0, len(cells), max(half // 2, 1))
        axes.set_yticks([band + 0.5 for band in shown], [_signed((b - half) * step) for b in shown])
        axes.set_xlabel("row in the baseline")
        axes.set_ylabel("rows later or earlier")
    return drawing.svg


def _signed(distance: float) -> str:
    return f"{distance:+,.0f}" if distance else "0"
