"""Draws which record comes when, run beside run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detloader.reports.html.drawing import (
    color_of,
    counts,
    drawn,
    number,
    runs_of,
    shade,
    ticks,
    words,
)

if TYPE_CHECKING:
    from detloader.findings import Picture

__all__ = ["KEY", "draw"]

KEY = "The stronger a cell, the more rows of that stretch deliver records of that band."


def draw(picture: Picture, name: str) -> str:
    """Give a map of each run, side by side."""
    runs = runs_of(picture)
    maps = {run: counts(rows, 2) for run, rows in runs.items()}
    most = max(float(cells.max()) for cells in maps.values())
    with drawn(name, height=2.3, columns=len(runs), sharey=True) as drawing:
        for axes, run in zip(drawing.axes, runs, strict=True):
            shade(axes, maps[run], color_of(run), most)
            ticks(
                axes,
                across=number(picture, "rows"),
                up=number(picture, "records"),
                low=number(picture, "low"),
            )
            axes.set_title(run)
            axes.set_xlabel("row")
        drawing.axes[0].set_ylabel(words(f"record, {picture.axes['numbered']}"))
    return drawing.svg
