"""Records Keras's `PyDataset` in a loop of the user's own, over it or over its indices.

`fit` reads one by index, in its own order and ahead of what it takes: there a callback records.
"""

from __future__ import annotations

import operator
import threading
from typing import Any

import keras

from detloader.adapters.builtins import RecordedIterable, reader_for
from detloader.adapters.elements import Delivered, ElementReader
from detloader.adapters.on_host import on_host
from detloader.adapters.request import Request
from detloader.errors import UsageError
from detloader.manifest.content import UndigestibleError, shows_rows
from detloader.recorder import Recorder

__all__ = ["RecordedPyDataset", "suits", "wrap"]


def suits(loader: object) -> bool:
    """Tell whether this is a data set that Keras reads by index."""
    return isinstance(loader, keras.utils.PyDataset)


def wrap(loader: Any, request: Request) -> RecordedPyDataset:
    """Start recording a data set."""
    reader = reader_for(loader, request)
    writer = request.writer(loader=type(loader).__qualname__)
    recorder = Recorder(writer, reader.encode)
    return RecordedPyDataset(loader, reader, recorder, is_settled=request.batched is not None)


class RecordedPyDataset(RecordedIterable):
    """A data set that records what it delivers, and that `fit` does not take.

    What is asked for by index belongs to one epoch, until `on_epoch_end` is called, an index is
    asked for once more, or the data set is iterated.
    """

    def __init__(
        self,
        loader: Any,
        reader: ElementReader,
        recorder: Recorder[Delivered],
        *,
        is_settled: bool,
    ) -> None:
        super().__init__(loader, reader, recorder)
        self._is_settled = is_settled
        self._delivered: set[int] = set()
        self._epoch = 0
        # Batches may be read by threads, as Keras itself does.
        self._recording = threading.Lock()

    @property  # type: ignore[misc]  # which class an object says that it is of
    def __class__(self) -> Any:
        """The data set's own class, or Keras would not know what it was given."""
        return type(self._original)

    def __getitem__(self, index: Any) -> Any:
        """Return a batch, whose label is the index."""
        with self._recorder.breaks.noting(IndexError):
            batch = self._original[index]
        with self._recording:
            self._record_at(index, batch)
        return batch

    def on_epoch_end(self, *arguments: Any, **options: Any) -> Any:
        """Let the data set end its epoch; the next index begins another one."""
        result = self._original.on_epoch_end(*arguments, **options)
        self._delivered = set()
        return result

    @property
    def workers(self) -> int:
        """What Keras asks for first.

        Raises:
            UsageError: always.
        """
        raise UsageError(
            "Keras reads a PyDataset by index, and ahead, which its twin cannot record: give fit "
            "the PyDataset itself, with callbacks=[RecordFit(run)] of detloader.keras"
        )

    def _record_at(self, index: Any, batch: Any) -> None:
        try:
            number = operator.index(index)
        except TypeError:
            self._recorder.lose(UsageError(f"the index of a batch is an integer, not {index!r}"))
            return
        if not self._delivered or number in self._delivered:
            self._epoch = self._begin_epoch()
        self._delivered.add(number)
        self._record(batch, self._epoch, number)

    def _begin_epoch(self) -> int:
        self._delivered = set()
        return super()._begin_epoch()

    def _read(self, element: Any, epoch: int, number: int) -> Delivered:
        if not self._is_settled:
            self._reader.batched = _is_batch(element)
            self._is_settled = True
        return super()._read(element, epoch, number)


def _is_batch(element: Any) -> bool:
    """Tell whether an element is the batch that Keras takes it for, as far as its rows show."""
    try:
        return shows_rows(on_host(element))
    except UndigestibleError:
        return False
