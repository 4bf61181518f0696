"""The batches of an epoch as a Grain dataset, and how threads read them ahead."""

from __future__ import annotations

import threading
from typing import Any, overload

from detloader.errors import UsageError
from detloader.grain_iterators import PassingIterator, grain
from detloader.hdf5.batches import Batch, BatchMaker

__all__ = ["Batches", "ReadAhead"]


class Batches(grain.MapDataset[Any]):
    """Random access to the batches of an epoch, before they are augmented."""

    def __init__(self, make: BatchMaker) -> None:
        super().__init__()
        self._make = make

    def __len__(self) -> int:
        """Return the number of elements."""
        return len(self._make)

    @overload
    def __getitem__(self, index: slice) -> grain.MapDataset[Any]: ...
    @overload
    def __getitem__(self, index: int) -> Batch: ...
    def __getitem__(self, index: int | slice) -> Any:
        """Make one element; those beyond the last one belong to further passes."""
        if isinstance(index, slice):
            return self.slice(index)
        return self._make(index + len(self) if index < 0 else index)

    def __str__(self) -> str:
        return "Batches"


class ReadAhead(grain.IterDataset[Any]):
    """Batches in order, read ahead by threads; the first one is made by the calling thread.

    Threads that all start at once share the processor, and for a long time none is done.
    """

    def __init__(self, batches: Batches, options: grain.ReadOptions) -> None:
        super().__init__(batches)
        self.has_child = True
        self._options = options

    def __iter__(self) -> grain.DatasetIterator[Any]:
        """Begin at the first batch."""
        batches: grain.MapDataset[Any] = self._parent
        return _ReadingAhead(batches, batches.to_iter_dataset(self._options).__iter__())

    def set_slice(self, part: slice, sequential_slice: bool = False) -> None:  # noqa: FBT001, FBT002
        """Read a part of the batches, as Grain asks of each worker."""
        if sequential_slice:
            raise UsageError("sequential_slice would change the order: leave it out")
        self._parents = (self._parent.slice(part),)


class _ReadingAhead(PassingIterator):
    def __init__(self, batches: grain.MapDataset[Any], ahead: grain.DatasetIterator[Any]) -> None:
        super().__init__(ahead)
        self._batches = batches
        self._begun = False
        self._starting: threading.Thread | None = None

    def __next__(self) -> Any:
        self._wait()
        number = self._parent.get_state()["next_index"]
        if self._begun or number >= len(self._batches):
            return next(self._parent)
        batch = self._batches[number]
        self._begun = True
        self._parent.set_state({"next_index": number + 1})
        # Not here: where threads compete, starting all of them takes longer than the batch.
        self._starting = threading.Thread(target=self._parent.start_prefetch, daemon=True)
        self._starting.start()
        return batch

    def start_prefetch(self) -> None:
        self._wait()
        self._begun = True
        self._parent.start_prefetch()

    def set_state(self, state: Any) -> None:
        self._wait()
        super().set_state(state)
        self._begun = False

    def close(self) -> None:
        self._wait()
        super().close()

    def _wait(self) -> None:
        if self._starting is not None:
            self._starting.join()
            self._starting = None
