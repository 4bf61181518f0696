"""Where the rows of a run stand in its source, as far as it can be known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import are_distinct, places
from detloader.audits.rule import CannotTell
from detloader.audits.view import SUBSTITUTES

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.view import StreamView
    from detloader.findings import RecordId

__all__ = [
    "Source",
    "baseline_order",
    "baseline_source",
    "is_source_order_of_baseline",
    "source_of",
    "source_size",
    "without_padding",
]


@dataclass(frozen=True, eq=False, slots=True)
class Source:
    """The source of a run, and which of its positions each row delivered.

    Attributes:
        size: records in the source.
        positions: shape (rows,), int64; -1 where a row's record is not in the source.
        codes: shape (size,), int64; the record code at each position, -1 where unknown.
    """

    size: int
    positions: Integers
    codes: Integers

    def name(self, view: StreamView, positions: Integers) -> list[RecordId]:
        """Give the record IDs at source positions; the position itself where unknown."""
        codes = self.codes[positions]
        if (codes < 0).any():
            places: list[RecordId] = positions.tolist()
            return places
        return view.identify(codes)


_LARGEST = 2**27
"""Records that arrays of them can be made of; a declaration costs its writer nothing."""


def without_padding(view: StreamView) -> StreamView:
    """Leave out the rows that were added to even out ranks."""
    if not view.has("padding"):
        return view
    padding = view.column("padding")
    return view.take(~padding.values | padding.missing())


def source_of(view: StreamView) -> Source:
    """Place rows by the `index` column, or by record IDs that are source positions.

    Raises:
        CannotTell: the size of the source, or the positions, are unknown.
    """
    size = source_size(view)
    if size > _LARGEST:
        raise CannotTell(f"a source of {_LARGEST:,} records or fewer")
    if view.has("index"):
        return _by_index(view, size)
    records = view.record.values
    if view.record.vocabulary is not None or not _within(records, size):
        raise CannotTell("index")
    return Source(size, records, np.arange(size))


def source_size(view: StreamView) -> int:
    """Give the records in the source, as declared or as a whole baseline in its order shows.

    Raises:
        CannotTell: neither tells.
    """
    size = view.declared("source_size")
    return _size_of_baseline(view) if size is None else int(size)


def _size_of_baseline(view: StreamView) -> int:
    baseline = view.baseline
    if baseline is None or not baseline.complete:
        raise CannotTell("source_size")
    declared = baseline.declared("source_size")
    if declared is not None:
        return int(declared)
    records = baseline.record.span
    if baseline.record.vocabulary is not None or records is None or records.start:
        raise CannotTell("source_size")
    return len(records)


def _by_index(view: StreamView, size: int) -> Source:
    index = view.column("index")
    if index.vocabulary is not None or index.missing().any() or not _within(index.values, size):
        raise CannotTell("index")
    positions = index.values.astype(np.int64)
    codes = np.full(size, -1, np.int64)
    codes[positions] = view.record.values
    others = np.count_nonzero(codes[positions] != view.record.values)
    if others > SUBSTITUTES * view.rows:  # of the parts of a mixture, say, or of shards
        raise CannotTell("an index that is the place in one source")
    return Source(size, positions, codes)


def _within(values: Integers, size: int) -> bool:
    return not len(values) or (int(values.min()) >= 0 and int(values.max()) < size)


def baseline_source(view: StreamView) -> Source | None:
    """Place rows by a baseline that was declared to be in source order; None without one."""
    baseline = view.baseline
    if baseline is None or not baseline.rows or baseline.ranks > 1:
        return None  # how ranks share the source is not known
    if baseline.declared("shuffle") is not False or not baseline.complete:
        return None
    order = next(iter(baseline.epochs.values()))
    return _by_order(view, baseline.record.values[order], slice(None))


def baseline_order(view: StreamView) -> Source | None:
    """Place the rows of each epoch by that epoch of a baseline in any order; None without one.

    Codes are known where all epochs have the same record.
    """
    baseline = view.baseline
    if baseline is None or baseline.ranks > 1 or not baseline.complete:
        return None
    if not view.epochs or not view.epochs.keys() <= baseline.epochs.keys():
        return None
    positions = np.full(view.rows, -1)
    codes: Integers | None = None
    for epoch, rows in view.epochs.items():
        order = baseline.record.values[baseline.epochs[epoch]]
        source = _by_order(view, order, rows)
        if source is None or (codes is not None and len(codes) != len(order)):
            return None
        positions[rows] = source.positions
        codes = order if codes is None else np.where(codes == order, codes, -1)
    assert codes is not None
    return Source(len(codes), positions, codes)


def _by_order(view: StreamView, codes: Integers, rows: Integers | slice) -> Source | None:
    """Place rows by an order of record codes; None where one comes twice."""
    if not are_distinct(codes):
        return None
    return Source(len(codes), places(codes, view.record.values[rows]), codes)


def is_source_order_of_baseline(view: StreamView, source: Source) -> bool:
    """Tell whether the baseline's first epoch is the source, in its order."""
    if view.baseline is None or not view.baseline.rows:
        return False
    first = next(iter(view.baseline.epochs.values()))
    return np.array_equal(view.baseline.record.values[first], source.codes)
