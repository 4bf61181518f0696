"""Which record comes when: records against rows, run beside run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.bands import Bands, density, record_scale
from detloader.audits.integers import slices
from detloader.audits.picture import Scene, Sketch, percent

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.view import StreamView

__all__ = ["PLACE", "TITLE", "sketch"]

TITLE = "Order map"
PLACE = 20

ACROSS, UP = 24, 16


def sketch(scene: Scene) -> Sketch:
    """Count the rows in each band of records and each band of rows."""
    views = scene.views
    scale = record_scale([*views.values()])
    rows = Bands(max(view.rows for view in views.values()), ACROSS)
    records = Bands(scale.size, UP)
    maps = {name: density(view, scale, rows, records) for name, view in views.items()}
    return Sketch(
        sentence=_sentence(views, maps),
        columns=["run", "records", *(f"rows {label}" for label in rows.labels())],
        rows=[
            [name, label, *counts]
            for name, cells in maps.items()
            for label, counts in zip(records.labels(scale.low), cells.tolist(), strict=True)
        ],
        axes={
            "rows": rows.size,
            "low": scale.low,
            "records": scale.size,
            "numbered": scale.in_words,
        },
    )


def _sentence(views: dict[str, StreamView], maps: dict[str, Integers]) -> str:
    climbs = " and ".join(f"{_climb(view)} of the steps in {name}" for name, view in views.items())
    steps = f"{climbs} lead to a higher record; in a shuffle, half of them do."
    if len(maps) == 1:
        return steps
    a, b = maps.values()
    shared, longer = int(np.minimum(a, b).sum()), max(int(a.sum()), int(b.sum()))
    if shared == longer:
        return f"The rows of both runs lie on the same cells of the map. {steps}"
    return f"{percent(shared, longer)} of the rows lie on the same cells in both runs. {steps}"


def _climb(view: StreamView) -> str:
    """Give the share of rows, but for an epoch's first, whose record is above the last row's."""
    climbing = steps = 0
    for some in slices(view.rows, 1):
        rows = slice(some.start - 1, some.stop)
        inside = np.diff(view.epoch[rows]) == 0
        climbing += int(((np.diff(view.record.values[rows]) > 0) & inside).sum())
        steps += int(inside.sum())
    return percent(climbing, steps) if steps else "None"
