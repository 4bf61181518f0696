"""Rows and records cut into a few dozen bands, so that pictures of any run have one size."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import SPREAD, distinct, slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detloader.audits.columns import Integers
    from detloader.audits.view import StreamView

__all__ = ["Bands", "RecordScale", "density", "record_scale"]


@dataclass(frozen=True, slots=True)
class Bands:
    """The numbers from 0 up to `size`, cut into bands of one width; the last may be narrower.

    Attributes:
        size: how many numbers there are, at least one.
        most: bands to have at most.
    """

    size: int
    most: int

    @property
    def width(self) -> int:
        """Count the numbers of a band."""
        return -(-self.size // self.most)

    @property
    def count(self) -> int:
        """Count the bands."""
        return -(-self.size // self.width)

    def of(self, numbers: Integers) -> Integers:
        """Give the band of each number."""
        return numbers // self.width

    def starts(self) -> list[int]:
        """Give the first number of each band, and the size at the end."""
        return [*range(0, self.size, self.width), self.size]

    def labels(self, low: int = 0) -> list[str]:
        """Name the numbers of each band, such as "96-191"; the first number is called `low`."""
        return [
            f"{low + start}" if end - start == 1 else f"{low + start}-{low + end - 1}"
            for start, end in itertools.pairwise(self.starts())
        ]


@dataclass(frozen=True, slots=True, eq=False)
class RecordScale:
    """Records of one or two runs, numbered from 0.

    Attributes:
        size: how many numbers there are.
        low: the ID that is number 0, where numbers follow the IDs.
        members: shape (size,), int64; IDs or codes, ascending, where numbers do not follow them.
        in_words: what the numbers are.
    """

    size: int
    low: int
    members: Integers | None
    in_words: str

    def number(self, records: Integers) -> Integers:
        """Give the number of each record; quick where records ascend."""
        if self.members is None:
            return records - self.low
        return np.searchsorted(self.members, records)

    def band(self, records: Integers, bands: Bands) -> Integers:
        """Give the band of each record, in any order."""
        if self.members is None:
            return bands.of(records - self.low)
        firsts = self.members[bands.starts()[:-1]]
        return np.searchsorted(firsts, records, side="right") - 1

    def records(self, numbers: Integers) -> Integers:
        """Give the records that have these numbers, as IDs or as codes."""
        return numbers + self.low if self.members is None else self.members[numbers]


def record_scale(views: Sequence[StreamView]) -> RecordScale:
    """Number the records of views that were loaded together and have rows."""
    values = [view.record.values for view in views]
    low = min(int(some.min()) for some in values)
    size = max(int(some.max()) for some in values) - low + 1
    is_text = views[0].record.vocabulary is not None
    if size <= SPREAD * max(map(len, values)):
        return RecordScale(size, low, None, "in order of appearance" if is_text else "by ID")
    members = distinct(np.concatenate([distinct(some) for some in values]))
    return RecordScale(len(members), 0, members, "in ascending order of their IDs")


def density(view: StreamView, scale: RecordScale, rows: Bands, records: Bands) -> Integers:
    """Count the rows in each cell of a map; shape (bands of records, bands of rows), int64."""
    cells = np.zeros(records.count * rows.count, np.int64)
    for some in slices(view.rows):
        across = rows.of(np.arange(some.start, some.stop))
        up = scale.band(view.record.values[some], records)
        cells += np.bincount(up * rows.count + across, minlength=len(cells))
    return cells.reshape(records.count, rows.count)
