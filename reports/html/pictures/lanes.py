"""Draws which worker of which rank delivers when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detloader.reports.html.drawing import (
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

KEY = "A cell is filled where that worker delivers at that time."

FIRST = 4
"""Cells of a row before the counts: run, rank, worker, rows."""


def draw(picture: Picture, name: str) -> str:
    """Give a lane for each worker of each rank, one below the other."""
    lanes = runs_of(picture)
    most = float(counts(picture.rows, FIRST).max())
    with drawn_strips(name, lanes) as drawing:
        for axes, (run, rows) in zip(drawing.axes, lanes.items(), strict=True):
            shade(axes, counts(rows[::-1], FIRST), color_of(run), most)
            labels = [words(_name(row)) for row in rows[::-1]]
            axes.set_yticks([place + 0.5 for place in range(len(labels))], labels)
            axes.set_title(run)
        ticks(drawing.axes[-1], across=number(picture, "rows"))
        drawing.axes[-1].set_xlabel("row")
    return drawing.svg


def _name(row: list[JsonValue]) -> str:
    """Name a lane; a worker that has a name of its own has it in the table alone."""
    rank, worker = row[1:3]
    return f"rank {rank}, worker {worker}" if isinstance(worker, int) else f"rank {rank}"
