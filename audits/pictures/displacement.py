"""How far each record moved from the row that it has in the baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from detloader.audits.bands import Bands
from detloader.audits.integers import slices
from detloader.audits.picture import Scene, Sketch

if TYPE_CHECKING:
    import numpy.typing as npt

    from detloader.audits.alignment import Alignment
    from detloader.audits.columns import Integers

__all__ = ["PLACE", "TITLE", "sketch"]

TITLE = "Displacement of each record"
PLACE = 30

ACROSS = 24
HALF = 8
"""Bands of distances on either side of those that hardly moved."""


def sketch(scene: Scene) -> Sketch | None:
    """Count the rows of both runs by their row in the baseline and the distance they moved."""
    if scene.comparison is None or not len(scene.comparison.alignment.rows_a):
        return None
    alignment = scene.comparison.alignment
    distance = _distances(alignment)
    ends = sorted([int(distance.argmin()), int(distance.argmax())])
    farthest = max(ends, key=lambda place: abs(int(distance[place])))
    reach = abs(int(distance[farthest]))
    if not reach:
        return None
    step = -(-reach // HALF)
    rows = Bands(scene.comparison.a.rows, ACROSS)
    cells = _count(alignment.rows_a, distance, rows, step)
    return Sketch(
        sentence=_sentence(alignment, distance, farthest),
        columns=["moved by", *(f"rows {label}" for label in rows.labels())],
        rows=[
            [_label(band - HALF, step), *counts]
            for band, counts in reversed([*enumerate(cells.tolist())])
        ],
        axes={"rows": rows.size, "step": step},
    )


def _distances(alignment: Alignment) -> npt.NDArray[Any]:
    """Give how far each row moved, in half the bytes where that will do."""
    rows_a, rows_b = alignment.rows_a, alignment.rows_b
    longest = max(int(rows_a.max()), int(rows_b.max()))
    distance: npt.NDArray[Any] = np.empty(len(rows_a), np.int32 if longest < 2**31 else np.int64)
    for some in slices(len(distance)):
        distance[some] = rows_b[some] - rows_a[some]
    return distance


def _count(rows_a: Integers, distance: npt.NDArray[Any], rows: Bands, step: int) -> Integers:
    cells = np.zeros((2 * HALF + 1) * rows.count, np.int64)
    for some in slices(len(rows_a)):
        up = (distance[some] + HALF * step + step // 2) // step
        cells += np.bincount(up * rows.count + rows.of(rows_a[some]), minlength=len(cells))
    return cells.reshape(2 * HALF + 1, rows.count)


def _label(band: int, step: int) -> str:
    low = band * step - step // 2
    high = low + step - 1
    return f"{low:+d}" if low == high else f"{low:+d} to {high:+d}"


def _sentence(alignment: Alignment, distance: npt.NDArray[Any], farthest: int) -> str:
    moved = np.count_nonzero(distance)
    row_a, row_b = int(alignment.rows_a[farthest]), int(alignment.rows_b[farthest])
    where = f"the record of row {row_a:,} stands in row {row_b:,}"
    if moved == 1:
        return f"One of {len(distance):,} shared rows stands elsewhere: {where}."
    middle = len(distance) - moved + moved // 2
    far = np.abs(distance)
    far.partition(middle)
    return (
        f"{moved:,} of {len(distance):,} shared rows stand elsewhere, half of them at least "
        f"{int(far[middle]):,} rows away; the farthest went {abs(row_b - row_a):,}: {where}."
    )
