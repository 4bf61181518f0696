"""Where along the run records, draws and content differ."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.bands import Bands
from detloader.audits.integers import slices
from detloader.audits.picture import Scene, Sketch

if TYPE_CHECKING:
    from detloader.audits.columns import Flags, Integers
    from detloader.audits.compare import Comparison

__all__ = ["PLACE", "TITLE", "sketch"]

TITLE = "Differences along the run"
PLACE = 40

ACROSS = 48


@dataclass(slots=True)
class _Tally:
    """Rows that differ in one way, by band.

    Attributes:
        rows: the bands.
        counts: shape (bands,), int64.
        first: the first such row; None where there is none.
        last: the last one.
    """

    rows: Bands
    counts: Integers = field(init=False)
    first: int | None = None
    last: int | None = None

    def __post_init__(self) -> None:
        self.counts = np.zeros(self.rows.count, np.int64)

    def add(self, rows: Integers) -> None:
        """Take further rows, ascending."""
        if len(rows):
            self.counts += np.bincount(self.rows.of(rows), minlength=len(self.counts))
            self.first = int(rows[0]) if self.first is None else self.first
            self.last = int(rows[-1])

    def __str__(self) -> str:
        """Say how many rows there are, and where."""
        count = int(self.counts.sum())
        if not count:
            return "no row"
        if count == 1:
            return f"row {self.first:,}"
        return f"{count:,} of {self.rows.size:,} rows, from row {self.first:,} to {self.last:,}"


def sketch(scene: Scene) -> Sketch | None:
    """Count the rows of the baseline that differ, by band and by kind of difference."""
    comparison = scene.comparison
    if comparison is None or not (comparison.a.rows and comparison.b.rows):
        return None
    rows = Bands(comparison.a.rows, ACROSS)
    found = {"record": _other_records(comparison, rows)}
    if any(name.startswith("draws") for name in comparison.a.compared):
        found["draws"] = _flagged(comparison, comparison.redrawn, rows)
    if {"content", "raw"} & set(comparison.a.compared):
        found["content"] = _flagged(comparison, comparison.drifted, rows)
    if not any(tally.counts.any() for tally in found.values()):
        return None
    bands = zip(rows.labels(), *(tally.counts.tolist() for tally in found.values()), strict=True)
    return Sketch(
        sentence=_sentence(found),
        columns=["rows", *found],
        rows=[[*band] for band in bands],
        axes={"rows": rows.size},
    )


def _other_records(comparison: Comparison, bands: Bands) -> _Tally:
    """Count the rows in which another record stands, place by place."""
    a, b = comparison.a.record.values, comparison.b.record.values
    tally = _Tally(bands)
    for some in slices(min(len(a), len(b))):
        tally.add(np.flatnonzero(a[some] != b[some]) + some.start)
    tally.add(np.arange(len(b), len(a)))
    return tally


def _flagged(comparison: Comparison, flags: Flags, bands: Bands) -> _Tally:
    tally = _Tally(bands)
    for some in slices(len(flags)):
        tally.add(comparison.alignment.rows_a[some][flags[some]])
    return tally


def _sentence(found: dict[str, _Tally]) -> str:
    told = [f"Another record stands in {found['record']}"]
    told += [
        f"{name} differ{'s' * (name == 'content')} in {tally}"
        for name, tally in found.items()
        if name != "record"
    ]
    return "; ".join(told) + "."
