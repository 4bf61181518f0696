"""Draws where along the run records, draws and content differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.reports.html.drawing import MUTED, RUN, counts, drawn, number, ticks, words

if TYPE_CHECKING:
    from detloader.findings import Picture

__all__ = ["KEY", "draw"]

KEY = "A full bar says that every row of that stretch differs."


def draw(picture: Picture, name: str) -> str:
    """Give a strip of bars for each kind of difference, one below the other."""
    kinds = picture.columns[1:]
    cells = counts(picture.rows, 1)
    starts = np.linspace(0, len(cells), len(cells) + 1) * np.ceil(
        number(picture, "rows") / len(cells)
    )
    widths = np.diff(np.minimum(starts, number(picture, "rows")))
    with drawn(name, height=0.75 + 0.5 * len(kinds), rows=len(kinds), sharex=True) as drawing:
        for axes, kind, height in zip(drawing.axes, kinds, cells.T / widths, strict=True):
            axes.stairs(height, fill=True, color=RUN)
            axes.set_ylim(0, 1)
            axes.set_yticks([])
            axes.spines["left"].set_visible(False)
            axes.set_ylabel(words(kind), rotation=0, ha="right", va="center", color=MUTED)
            axes.set_xlim(0, len(cells))
        ticks(drawing.axes[-1], across=number(picture, "rows"))
        drawing.axes[-1].set_xlabel("row in the baseline")
    return drawing.svg
