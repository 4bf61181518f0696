"""Draws which records each epoch of each rank delivers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.patches import Rectangle

from detloader.reports.html.drawing import (
    FAULT,
    color_of,
    counts,
    drawn_strips,
    number,
    runs_of,
    shade,
    ticks,
    words,
)

if TYPE_CHECKING:
    from detloader.findings import JsonValue, Picture

__all__ = ["KEY", "draw"]

KEY = "A full cell has all its records, a framed one has none."

FIRST = 5
"""Cells of a row before the shares: run, epoch, rank, rows, records."""


def draw(picture: Picture, name: str) -> str:
    """Give a strip for each epoch and rank, one below the other."""
    strips = runs_of(picture)
    several = len({str(row[2]) for row in picture.rows}) > 1
    with drawn_strips(name, strips) as drawing:
        for axes, (run, rows) in zip(drawing.axes, strips.items(), strict=True):
            shares = counts(rows[::-1], FIRST)
            shade(axes, shares, color_of(run), 1.0)
            for row, column in np.argwhere(shares == 0):
                axes.add_patch(Rectangle((column + 0.2, row + 0.2), 0.6, 0.6, fill=False, ec=FAULT))
            labels = [words(_name(row, ranks=several)) for row in rows[::-1]]
            axes.set_yticks([place + 0.5 for place in range(len(labels))], labels)
            axes.set_title(run)
        ticks(drawing.axes[-1], across=number(picture, "records"))
        drawing.axes[-1].set_xlabel(words(f"record, {picture.axes['numbered']}"))
    return drawing.svg


def _name(row: list[JsonValue], *, ranks: bool) -> str:
    return f"epoch {row[1]}, rank {row[2]}" if ranks else f"epoch {row[1]}"
