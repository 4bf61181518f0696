"""Records detloader's own streams, those of `to_grain`.

Which record stood where is a pure function of the plan: it is computed, not logged. Only
what no function can tell, the draws taken and the content, comes from a witness that
travels with each element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import grain
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from detloader.adapters.request import Request
from detloader.errors import UsageError
from detloader.fused import BatchStream, Witness, Witnessing
from detloader.manifest.schema import Level
from detloader.plan import Plan
from detloader.randomness import digest_draws, stream_key
from detloader.recorder import Recorder

__all__ = ["RecordedStream", "suits", "wrap"]


def suits(loader: object) -> bool:
    """Tell whether this is a stream of `to_grain`."""
    return isinstance(loader, BatchStream)


def wrap(loader: BatchStream, request: Request) -> RecordedStream:
    """Start recording a stream of `to_grain`."""
    plan = loader.plan
    full = request.level is not Level.ORDER
    rows = _Rows(plan, request.ids, full=full)
    writer = request.writer(
        loader="to_grain",
        shuffle=plan.shuffle,
        seed=plan.seed,
        source_size=plan.size,
        batch_size=plan.batch_size,
        drop_remainder=plan.drop_remainder,
        num_epochs=plan.num_epochs,
        workers=plan.workers,
        start_method="spawn",
        stream_mode="global",
        config={"compatibility": plan.compatibility},
    )
    recorder = Recorder[_Delivered](writer, rows.encode)
    witnessing = Witnessing.DRAWS_AND_CONTENT if full else Witnessing.DRAWS
    return RecordedStream(loader.witnessed(witnessing), recorder)


@dataclass(frozen=True, slots=True)
class _Delivered:
    """One element that the loop was given."""

    start: int
    rows: int
    first_epoch: int
    resumed: bool
    taken: bytes
    content: bytes


class RecordedStream(grain.IterDataset[Any]):
    """A `to_grain` stream that records what it delivers; elements and states are unchanged.

    Each `iter()` begins the stream again. Its passes are counted on from those before, so
    that a second one of a single pass is epoch 1. An iterator whose state was set goes on
    with the passes that it continues, and its rows say `resumed`.
    """

    def __init__(self, witnessed: BatchStream, recorder: Recorder[_Delivered]) -> None:
        super().__init__(witnessed)
        self.has_child = True  # as in BatchStream: keeps `__next__` from being wrapped
        self.plan = witnessed.plan
        self._recorder = recorder
        self.first_epoch = 0
        self.next_epoch = 0

    def __iter__(self) -> grain.DatasetIterator[Any]:
        """Begin at the first element, in the next epoch."""
        return _RecordedIterator(self._parent.__iter__(), self, self._recorder)

    def close(self) -> None:
        """Seal the run."""
        self._recorder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _RecordedIterator(grain.DatasetIterator[Any]):
    def __init__(
        self,
        parent: grain.DatasetIterator[Any],
        stream: RecordedStream,
        recorder: Recorder[_Delivered],
    ) -> None:
        super().__init__(parent)
        self._stream = stream
        self._put = recorder.put
        self._first_epoch: int | None = None
        self._resumed = False

    def __next__(self) -> Any:
        element, witness = next(self._parent)
        self._put(self._delivered(Witness(*witness)))
        return element

    def _delivered(self, witness: Witness) -> _Delivered:
        stream = self._stream
        if self._first_epoch is None:
            # Not before the first element: an iterator may be made and never used.
            self._first_epoch = stream.next_epoch
            stream.first_epoch = self._first_epoch
        start, rows, taken, content = witness
        last = self._first_epoch + (start + rows - 1) // stream.plan.size
        stream.next_epoch = max(stream.next_epoch, last + 1)
        return _Delivered(start, rows, self._first_epoch, self._resumed, taken, content)

    def get_state(self) -> dict[str, Any]:
        return self._parent.get_state()

    def set_state(self, state: dict[str, Any]) -> None:
        self._parent.set_state(state)
        self._first_epoch = self._stream.first_epoch
        self._resumed = True


class _Rows:
    """Makes the rows of what was delivered."""

    def __init__(self, plan: Plan, ids: object, *, full: bool) -> None:
        self._plan = plan
        self._full = full
        self._key = stream_key(plan.seed or 0)
        self._ids = None if ids is None else _id_array(ids, plan.size)

    def encode(self, chunks: Sequence[_Delivered]) -> pa.Table:
        """Return one row for each record, in delivery order."""
        positions = np.concatenate([np.arange(c.start, c.start + c.rows) for c in chunks])
        counts = [chunk.rows for chunk in chunks]
        index = self._indices(chunks)
        first_epoch = np.repeat([chunk.first_epoch for chunk in chunks], counts)
        columns: dict[str, Any] = {
            "record": index if self._ids is None else self._ids.take(index),
            "epoch": first_epoch + positions // self._plan.size,
        }
        batches = positions // (self._plan.batch_size or 1)
        if self._plan.batch_size is not None:
            columns["batch"] = batches
        if self._full:
            columns["draws"] = self._draws(positions, chunks)
            columns["content"] = _content(chunks)
        if self._ids is not None:
            columns["index"] = index
        if self._plan.workers:
            columns["worker"] = batches % self._plan.workers
        columns["resumed"] = np.repeat([chunk.resumed for chunk in chunks], counts)
        return pa.table(columns)

    def _indices(self, chunks: Sequence[_Delivered]) -> NDArray[np.int64]:
        """Ask for whole stretches of the order, not for each element's few records."""
        stretches: list[tuple[int, int]] = []
        for chunk in chunks:
            stop = chunk.start + chunk.rows
            if stretches and stretches[-1][1] == chunk.start:
                stretches[-1] = stretches[-1][0], stop
            else:
                stretches.append((chunk.start, stop))
        return np.concatenate([self._plan.order.indices(*stretch) for stretch in stretches])

    def _draws(self, positions: NDArray[np.int64], chunks: Sequence[_Delivered]) -> pa.Array[Any]:
        taken = np.frombuffer(b"".join(chunk.taken for chunk in chunks), np.uint32)
        return pa.array(digest_draws(self._key, positions, taken), mask=taken == 0)


def _content(chunks: Sequence[_Delivered]) -> pa.Array[Any]:
    known = np.repeat([bool(chunk.content) for chunk in chunks], [chunk.rows for chunk in chunks])
    digests = np.zeros(len(known), np.uint64)
    digests[known] = np.frombuffer(b"".join(chunk.content for chunk in chunks), np.uint64)
    return pa.array(digests, mask=~known)


def _id_array(ids: object, size: int) -> pa.Array[Any]:
    if isinstance(ids, str) or not isinstance(ids, Sequence | np.ndarray):
        message = "ids of a to_grain stream are a sequence: ids[i] is that of source index i"
        raise UsageError(message)
    first = next(iter(ids), 0)
    try:
        array = pa.array(ids, pa.string() if isinstance(first, str) else pa.int64())
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        message = f"ids must be all integers or all strings: {error}"
        raise UsageError(message) from error
    if len(array) != size:
        message = f"{len(array)} ids for a source of {size} records: give one for each"
        raise UsageError(message)
    return array
