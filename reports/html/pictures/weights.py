"""Draws declared weights beside the shares that came of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.reports.html.drawing import MUTED, color_of, counts, drawn, words

if TYPE_CHECKING:
    from detloader.findings import Picture

__all__ = ["KEY", "draw"]

KEY = "Bars that are as long as the declared one are what was asked for."

FIRST = 2
"""Cells of a row before the shares: weight, records."""


def draw(picture: Picture, name: str) -> str:
    """Give a group of bars for each group of weights: declared, then each run."""
    kinds = [words(name) for name in picture.columns[FIRST:]]
    shares = counts(picture.rows, FIRST) * 100
    groups = np.arange(len(shares))
    thick = 0.8 / len(kinds)
    with drawn(name, height=0.9 + 0.22 * shares.size) as drawing:
        (axes,) = drawing.axes
        for place, kind in enumerate(kinds):
            axes.barh(
                groups + (place - (len(kinds) - 1) / 2) * thick,
                shares[:, place],
                height=thick * 0.9,
                color=MUTED if kind == "declared" else color_of(kind),
                label=kind,
            )
        axes.set_yticks(groups, [words(f"weight {row[0]}") for row in picture.rows])
        axes.invert_yaxis()
        axes.set_xlabel("percent of all rows")
        axes.legend(
            loc="lower right",
            bbox_to_anchor=(1, 1),
            ncols=len(kinds),
            borderpad=0,
            handlelength=1,
            columnspacing=1,
        )
    return drawing.svg
