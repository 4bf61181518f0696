"""Which part of a long run is recorded: some epochs, every n-th batch, less after the first.

What is left out is counted, and the header says which part was kept.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, SupportsIndex

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from detloader.errors import UsageError
from detloader.manifest.arrays import to_numpy
from detloader.manifest.schema import MOST_EPOCHS, Level, Sampling, is_stored

__all__ = ["Sampler", "sampling_of"]


def sampling_of(
    epochs: Iterable[SupportsIndex] | None,
    every: SupportsIndex | None,
    then: Level | str | None,
    level: Level,
) -> Sampling | None:
    """Return the sampling that a user asks for; None where all is recorded.

    Args:
        epochs: numbers of the epochs to record; None for all.
        every: which batches of an epoch: 0, `every`, 2 `every`, …; None for all.
        then: "order", to keep no draws and no content after the first recorded epoch.
        level: that of the first epoch.

    Raises:
        UsageError: an argument makes no sense.
    """
    if then is not None and (then != Level.ORDER or level is not Level.FULL):
        message = f"then can be order alone, after level full: not {then} after {level}"
        raise UsageError(message)
    numbers = None if epochs is None else _numbers(epochs)
    step = 1 if every is None else _number(every, "every")
    if step < 1:
        raise UsageError(f"every {step} records nothing: 1 keeps each batch, 10 every tenth")
    sampling = Sampling(
        epochs=msgspec.UNSET if numbers is None else numbers,
        every=step if step > 1 else msgspec.UNSET,
        then="order" if then is not None else msgspec.UNSET,
    )
    return None if sampling == Sampling() else sampling


def _numbers(epochs: object) -> list[int]:
    if isinstance(epochs, str) or not isinstance(epochs, Iterable):
        raise UsageError(f"epochs are several numbers, such as [0, 10, 20], and not {epochs!r}")
    numbers = sorted({_number(epoch, "epochs") for epoch in epochs})
    if not numbers or numbers[0] < 0 or len(numbers) > MOST_EPOCHS:
        raise UsageError(f"epochs count from 0, and name 1 to {MOST_EPOCHS:,} of them")
    return numbers


def _number(value: SupportsIndex, name: str) -> int:
    try:
        return operator.index(value)
    except TypeError as error:
        raise UsageError(f"{name}: {value!r} is no whole number") from error


class Sampler:
    """Picks the rows that a sampling keeps, of rows that come in delivery order.

    Attributes:
        skipped: rows that it left out so far.
    """

    def __init__(self, sampling: Sampling) -> None:
        """Take the sampling; no row has come yet."""
        self.skipped = 0
        self._sampling = sampling
        self._places: dict[int, int] = {}
        self._first: int | None = None

    def pick(self, rows: pa.Table) -> pa.Table:
        """Return the rows that are kept, with as much of each as is kept."""
        epochs = _integers(rows, "epoch")
        kept = np.ones(len(rows), np.bool_)
        if self._sampling.epochs:
            kept &= np.isin(epochs, self._sampling.epochs)
        if self._sampling.every:
            kept &= self._labels(rows, epochs) % self._sampling.every == 0
        self.skipped += int((~kept).sum())
        rows, epochs = rows.filter(pa.array(kept)), epochs[kept]
        return self._lowered(rows, epochs) if self._sampling.then and len(rows) else rows

    def _labels(self, rows: pa.Table, epochs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the label of each row's batch, or its place in the epoch where there is none."""
        if "batch" in rows.column_names:
            return _integers(rows, "batch")
        places = np.empty(len(rows), np.int64)
        for epoch in np.unique(epochs).tolist():
            of_epoch = np.flatnonzero(epochs == epoch)
            start = self._places.get(epoch, 0)
            places[of_epoch] = np.arange(start, start + len(of_epoch))
            self._places[epoch] = start + len(of_epoch)
        return places

    def _lowered(self, rows: pa.Table, epochs: NDArray[np.int64]) -> pa.Table:
        """Take from the later epochs what the lower level does not keep."""
        if self._first is None:
            self._first = int(epochs[0])
        later = pa.array(epochs != self._first)
        for place, field in enumerate(rows.schema):
            if not is_stored(field.name, Level.ORDER):
                nothing = pa.scalar(None, field.type)
                column = compute.if_else(later, nothing, rows.column(place))
                rows = rows.set_column(place, field, column)
        return rows


def _integers(rows: pa.Table, name: str) -> NDArray[Any]:
    if name not in rows.column_names:
        return np.zeros(len(rows), np.int64)
    values, nulls = to_numpy(rows[name].combine_chunks())
    return values if nulls is None else np.where(nulls, 0, values)
