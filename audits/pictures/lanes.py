"""Which worker of which rank delivers when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.bands import Bands
from detloader.audits.batches import batch_starts
from detloader.audits.integers import distinct, slices
from detloader.audits.picture import Scene, Sketch, brief

if TYPE_CHECKING:
    from detloader.audits.columns import Column, Integers
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue

__all__ = ["PLACE", "TITLE", "sketch"]

TITLE = "Workers and ranks"
PLACE = 70

TURNS = 32
"""Batches at the beginning, or rows where there are no batches, that are drawn."""

LANES = 8
"""Lanes of a run at most; the first ones are shown."""


@dataclass(frozen=True, slots=True, eq=False)
class _Lanes:
    """Who delivered the rows of a run.

    Attributes:
        names: rank and worker of each lane; no worker where none was recorded.
        rows: how many rows each delivered.
        first: shape (rows that are drawn,), int64; the lane of each.
    """

    names: list[tuple[int, JsonValue]]
    rows: list[int]
    first: Integers


def sketch(scene: Scene) -> Sketch | None:
    """Count the rows of each lane in each of the first batches."""
    views = scene.views
    window = max(_window(view) for view in views.values())
    found = {name: _lanes(view, window) for name, view in views.items()}
    if all(len(lanes.names) == 1 for lanes in found.values()):
        return None
    bands = Bands(window, TURNS)
    return Sketch(
        sentence=_sentence(found, window),
        columns=["run", "rank", "worker", "rows", *(f"rows {label}" for label in bands.labels())],
        rows=[
            [name, *lanes.names[lane], lanes.rows[lane], *_turns(lanes, lane, bands)]
            for name, lanes in found.items()
            for lane in range(min(len(lanes.names), LANES))
        ],
        axes={"rows": window},
    )


def _lanes(view: StreamView, window: int) -> _Lanes:
    worker = _worker(view)
    ranks = distinct(view.rank)
    workers = np.zeros(1, np.int64) if worker is None else distinct(worker.values)

    def lane_of(rows: slice) -> Integers:
        of_rank = np.searchsorted(ranks, view.rank[rows])
        if worker is None:
            return of_rank
        return of_rank * len(workers) + np.searchsorted(workers, worker.values[rows])

    counts = np.zeros(len(ranks) * len(workers), np.int64)
    for rows in slices(view.rows):
        counts += np.bincount(lane_of(rows), minlength=len(counts))
    present = np.flatnonzero(counts)
    names: list[JsonValue] = [None]
    if worker is not None:
        names = [brief(worker.show_value(value)) for value in workers]
    return _Lanes(
        names=[
            (int(ranks[lane // len(workers)]), names[lane % len(workers)])
            for lane in present.tolist()
        ],
        rows=counts[present].tolist(),
        first=np.searchsorted(present, lane_of(slice(window))),
    )


def _worker(view: StreamView) -> Column | None:
    """Give who delivered each row; None where that is not known of all."""
    if not view.has("worker"):
        return None
    column = view.column("worker")
    known = np.issubdtype(column.values.dtype, np.integer) and not column.missing().any()
    return column if known else None


def _window(view: StreamView) -> int:
    """Count the rows up to the end of the last batch that is drawn."""
    if "batch" not in view.compared:
        return min(view.rows, TURNS)
    starts = np.flatnonzero(batch_starts(view))
    return int(starts[TURNS]) if len(starts) > TURNS else view.rows


def _turns(lanes: _Lanes, lane: int, bands: Bands) -> list[JsonValue]:
    rows = np.flatnonzero(lanes.first == lane)
    turns: list[JsonValue] = np.bincount(bands.of(rows), minlength=bands.count).tolist()
    return turns


def _sentence(found: dict[str, _Lanes], window: int) -> str:
    told = [f"{name} takes its rows from {_count(lanes)}" for name, lanes in found.items()]
    first = "; ".join(told)
    return f"{first[0].upper()}{first[1:]}. The first {window:,} rows are drawn."


def _count(lanes: _Lanes) -> str:
    ranks = len({rank for rank, _ in lanes.names})
    workers = len(lanes.names)
    kind = "worker" if lanes.names[0][1] is not None else "rank"
    if workers == 1:
        return f"one {kind}"
    low, high = min(lanes.rows), max(lanes.rows)
    each = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    of = f" of {ranks} ranks" if ranks > 1 and kind == "worker" else ""
    return f"{workers:,} {kind}s{of}, {each} rows each"
