"""The batches of an epoch as a Grain dataset, and how threads read them ahead."""

from __future__ import annotations

import operator
import os
import weakref
from collections import deque
from concurrent.futures import Future
from typing import Any, overload

from detloader.errors import UsageError
from detloader.grain.iterators import grain
from detloader.hdf5.delivery.batches import Batch, BatchMaker
from detloader.hdf5.delivery.readers import Readers

__all__ = ["Batches", "ReadAhead"]

_all: weakref.WeakSet[_ReadingAhead] = weakref.WeakSet()


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
    """Batches in order, read ahead by threads."""

    def __init__(self, batches: Batches, options: grain.ReadOptions) -> None:
        super().__init__(batches)
        self.has_child = True
        self._options = options

    def __iter__(self) -> grain.DatasetIterator[Any]:
        """Begin at the first batch."""
        return _ReadingAhead(self._parent, self._options)

    def set_slice(self, part: slice, sequential_slice: bool = False) -> None:  # noqa: FBT001, FBT002
        """Read a part of the batches, as Grain asks of each worker."""
        if sequential_slice:
            raise UsageError("sequential_slice would change the order: leave it out")
        self._parents = (self._parent.slice(part),)


class _ReadingAhead(grain.DatasetIterator[Any]):
    """Iterates batches; after a fork the child reads on from where it stood."""

    def __init__(self, batches: grain.MapDataset[Any], options: grain.ReadOptions) -> None:
        super().__init__()
        self._batches = batches
        self._count = len(batches)
        self._size = options.prefetch_buffer_size
        self._next = 0
        self._threads = min(options.num_threads, self._size)
        self.begin_reading()
        _all.add(self)

    def begin_reading(self) -> None:
        """Ask new threads, whatever became of others."""
        self._ahead: deque[Future[Any]] = deque()
        self._readers: Readers | None = None
        if self._threads:
            self._readers = Readers(self._batches.__getitem__, self._threads)

    def __next__(self) -> Any:
        self._assert_not_closed()
        if self._next >= self._count:
            raise StopIteration
        if self._readers is None:
            batch = self._batches[self._next]
        else:
            self._ask(self._readers, 1 + self._size)
            batch = self._ahead[0].result()
            self._ahead.popleft()
        self._next += 1
        return batch

    def start_prefetch(self) -> None:
        self._assert_not_closed()
        if self._readers is not None:
            self._ask(self._readers, self._size)

    def get_state(self) -> dict[str, int]:
        return {"next_index": self._next}

    def set_state(self, state: dict[str, int]) -> None:
        wanted = operator.index(state["next_index"])
        if not 0 <= wanted <= self._count:
            raise UsageError(f"the state is of batch {wanted}, of {self._count}: take another one")
        self._forget()
        self._next = wanted

    def close(self) -> None:
        super().close()
        self._forget()
        if self._readers is not None:
            self._readers.close()

    def _ask(self, readers: Readers, ahead: int) -> None:
        """Ask for what is not yet under way of the next batches."""
        begun = self._next + len(self._ahead)
        for number in range(begun, min(self._next + ahead, self._count)):
            self._ahead.append(readers.ask(number))

    def _forget(self) -> None:
        self._ahead.clear()
        if self._readers is not None:
            self._readers.forget()


def _begin_all() -> None:
    # The threads stayed in the parent, some of them maybe with a lock.
    for each in list(_all):
        each.begin_reading()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_all)
