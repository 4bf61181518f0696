"""Records Keras's `PyDataset` in a loop of the user's own.

`fit` reads one by index, in its own order and ahead of what it takes: there a callback records.
"""

from __future__ import annotations

from typing import Any

import keras

from detloader.adapters.builtins import RecordedIterable, reader_for
from detloader.adapters.request import Request
from detloader.errors import UsageError
from detloader.recorder import Recorder

__all__ = ["RecordedPyDataset", "suits", "wrap"]


def suits(loader: object) -> bool:
    """Tell whether this is a data set that Keras reads by index."""
    return isinstance(loader, keras.utils.PyDataset)


def wrap(loader: Any, request: Request) -> RecordedPyDataset:
    """Start recording a data set."""
    reader = reader_for(loader, request)
    writer = request.writer(loader=type(loader).__qualname__)
    return RecordedPyDataset(loader, reader, Recorder(writer, reader.encode))


class RecordedPyDataset(RecordedIterable):
    """A data set that records what iterating it delivers, and that `fit` does not take."""

    @property  # type: ignore[misc]  # which class an object says that it is of
    def __class__(self) -> Any:
        """The data set's own class, or Keras would not know what it was given."""
        return type(self._original)

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
