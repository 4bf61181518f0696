"""What each epoch delivered, held against the source."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.measures.source import source_of, source_size
from detloader.audits.rule import CannotTell

if TYPE_CHECKING:
    from detloader.audits.columns import Flags, Integers
    from detloader.audits.measures.source import Source
    from detloader.audits.view import StreamView
    from detloader.findings import RecordId

__all__ = ["Census", "EpochCount", "take_census"]


@dataclass(frozen=True, eq=False)
class EpochCount:
    """What one epoch delivered.

    Attributes:
        epoch: its number.
        rows: shape (delivered,), int64; its rows, in canonical order.
        keys: shape (delivered,), int64; the keys of their records.
        known: how many keys there are.
    """

    epoch: int
    rows: Integers
    keys: Integers
    known: int

    @cached_property
    def distinct(self) -> int:
        """Count the records that it delivered."""
        return int(np.count_nonzero(self._present()))

    @cached_property
    def missing(self) -> Integers:
        """Give the keys of the records that are known and did not come, ascending."""
        return np.flatnonzero(~self._present())

    def _present(self) -> Flags:
        present = np.zeros(self.known, dtype=np.bool_)
        present[self.keys] = True
        return present

    @property
    def extra(self) -> int:
        """Count the rows beyond one for each record."""
        return len(self.rows) - self.distinct


@dataclass(frozen=True, eq=False, slots=True)
class Census:
    """What a run delivered, epoch by epoch.

    Attributes:
        view: the run.
        size: records in the source.
        keys: shape (rows,), int64, from 0; a number for the record of each row.
        codes: shape (keys,), int64; the record code of each key, -1 where it is unknown.
        source: where rows stand in the source; then keys are positions. None where unknown.
        epochs: in ascending order.
    """

    view: StreamView
    size: int
    keys: Integers
    codes: Integers
    source: Source | None
    epochs: list[EpochCount]

    def lost(self, epoch: EpochCount) -> int:
        """Count the records that an epoch did not deliver."""
        return self.size - epoch.distinct

    def never(self) -> Integers:
        """Give the keys that no epoch delivered."""
        present = np.zeros(len(self.codes), dtype=np.bool_)
        present[self.keys] = True
        return np.flatnonzero(~present)

    def name(self, keys: Integers) -> list[RecordId]:
        """Give record IDs; the source position where the ID is unknown."""
        if self.source is not None:
            return self.source.name(self.view, keys)
        return self.view.identify(self.codes[keys])

    def known_codes(self, keys: Integers) -> Integers:
        """Give the record codes of keys, as far as they are known."""
        codes = self.codes[keys]
        return codes[codes >= 0]


def take_census(view: StreamView) -> Census:
    """Count what each epoch delivered.

    Where source positions are unknown, the known records are those that came in any
    epoch, or in the baseline.

    Raises:
        CannotTell: the size of the source is unknown.
    """
    size = source_size(view)
    source: Source | None = None
    try:
        source = source_of(view)
        keys, codes = source.positions, source.codes
    except CannotTell:
        records = view.record.values
        if view.baseline is not None:
            records = np.concatenate([records, view.baseline.record.values])
        codes, inverse = np.unique(records, return_inverse=True)
        keys = inverse[: view.rows]
    epochs = [EpochCount(epoch, rows, keys[rows], len(codes)) for epoch, rows in view.by_epoch()]
    return Census(view, size, keys, codes, source, epochs)
