"""Records detloader's own streams, those of `to_grain`.

What was read, what was drawn and what came of it is told by a witness that travels with
each element. All else follows from the plan, and is computed for many elements at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import grain
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from detloader.adapters.digests import digest_column
from detloader.adapters.ids import id_array
from detloader.adapters.request import Request
from detloader.grain.alone import Alone
from detloader.grain.elements import Witnessing
from detloader.grain.iterators import PassingIterator
from detloader.grain.plan import Plan
from detloader.grain.stream import BatchStream
from detloader.manifest.rounding import EXACT, Digester
from detloader.manifest.schema import Level
from detloader.order.permutation import pass_seed
from detloader.randomness import digest_draws, stream_key
from detloader.recorder import Recorder, Sealing

__all__ = ["RecordedStream", "alone", "remake", "suits", "wrap"]


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
        # The published permutation leaves records out at some sizes.
        **({"replacement": False} if rows.ids_differ and plan.compatibility is None else {}),
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
    recorder = Recorder[_Delivered](writer, rows.encode, rows.seeds, sees_steps=True)
    witnessing = Witnessing(digester=request.digester if full else None)
    return RecordedStream(loader.witnessed(witnessing), recorder)


def remake(loader: BatchStream, start: int, stop: int, digester: Digester = EXACT) -> pa.Table:
    """Make rows of a stream's first iteration again, without those before them.

    Args:
        loader: a stream of `to_grain`.
        start: position of the first row.
        stop: position behind the last one, above `start`.
        digester: what digests content.

    Returns:
        The rows as they are recorded, in delivery order.
    """
    plan = loader.plan
    make = loader.maker(Witnessing(digester=digester))
    size = plan.batch_size or 1
    first, last = start // size, -(-stop // size)
    chunks = []
    for number in range(first, last):
        _, (at, count, indices, taken, content) = make(number)
        chunks.append(_Delivered(at, count, indices, taken, content, 0, resumed=False))
    rows = _Rows(plan, None, full=True).encode(chunks)
    return rows.slice(start - first * size, stop - start)


def alone(loader: BatchStream, position: int, digester: Digester = EXACT) -> Alone:
    """Make the record of one row of a stream again; its iterations are alike."""
    total = loader.plan.order.total
    return loader.alone(position if total is None else position % total, digester)


class _Delivered(NamedTuple):
    """One element that the loop was given: its witness, and the passes before its stream's."""

    start: int
    rows: int
    indices: bytes
    taken: bytes
    content: bytes
    first_epoch: int
    resumed: bool


class RecordedStream(Sealing, grain.IterDataset[Any]):
    """A `to_grain` stream that records what it delivers; elements and states are unchanged.

    Each `iter()` begins the stream again. Its passes are counted on from those before, so
    that a second one of a single pass is epoch 1. An iterator whose state was set goes on
    with the passes that it continues, and its rows say `resumed`.
    """

    def __init__(self, witnessed: BatchStream, recorder: Recorder[_Delivered]) -> None:
        super().__init__(witnessed)
        self.has_child = True  # as in BatchStream: keeps `__next__` from being replaced
        self.plan = witnessed.plan
        self._recorder = recorder
        self.first_epoch = 0
        self.next_epoch = 0

    def __iter__(self) -> grain.DatasetIterator[Any]:
        """Begin at the first element, in the next epoch."""
        return _RecordedIterator(self._parent.__iter__(), self, self._recorder)


class _RecordedIterator(PassingIterator):
    def __init__(
        self,
        parent: grain.DatasetIterator[Any],
        stream: RecordedStream,
        recorder: Recorder[_Delivered],
    ) -> None:
        super().__init__(parent)
        self._stream = stream
        self._put = recorder.put
        self._breaks = recorder.breaks
        self._first_epoch: int | None = None
        self._resumed = False

    def __next__(self) -> Any:
        with self._breaks:
            element, (start, rows, indices, taken, content) = next(self._parent)
        first_epoch = self._count_epochs(start, rows)
        self._put(_Delivered(start, rows, indices, taken, content, first_epoch, self._resumed))
        return element

    def _count_epochs(self, start: int, rows: int) -> int:
        stream = self._stream
        if self._first_epoch is None:
            # Not before the first element: an iterator may be made and never used.
            self._first_epoch = stream.next_epoch
            stream.first_epoch = self._first_epoch
        last = self._first_epoch + (start + rows - 1) // stream.plan.size
        stream.next_epoch = max(stream.next_epoch, last + 1)
        return self._first_epoch

    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self._first_epoch = self._stream.first_epoch
        self._resumed = True


class _Rows:
    """Makes the rows of what was delivered, in the recorder's thread."""

    def __init__(self, plan: Plan, ids: object, *, full: bool) -> None:
        self._plan = plan
        self._full = full
        self._key = stream_key(plan.seed or 0)
        self._ids = None if ids is None else id_array(ids, plan.size)
        # Where IDs repeat, the stream's source is a schedule, and its places are not those of
        # the records in their own source.
        self._ids_are_places = self._ids is not None and len(self._ids.unique()) == plan.size
        # Keys only: a set that keeps the order of first use.
        self.seeds: dict[int, None] = {}

    @property
    def ids_differ(self) -> bool:
        """Whether no two records share an ID."""
        return self._ids is None or self._ids_are_places

    def encode(self, chunks: Sequence[_Delivered]) -> pa.Table:
        """Return one row for each record, in delivery order."""
        counts = np.array([chunk.rows for chunk in chunks])
        # The distance from a row's number here to its position is one within each element.
        ahead = np.array([chunk.start for chunk in chunks]) - (np.cumsum(counts) - counts)
        positions = np.arange(counts.sum()) + np.repeat(ahead, counts)
        passes = self._plan.order.epoch_of(positions)
        self._note_seeds(passes)
        index = np.frombuffer(b"".join([chunk.indices for chunk in chunks]), np.int64)
        first_epoch = np.repeat([chunk.first_epoch for chunk in chunks], counts)
        columns: dict[str, Any] = {
            "record": index if self._ids is None else self._ids.take(index),
            "epoch": first_epoch + passes,
        }
        batches = positions // (self._plan.batch_size or 1)
        if self._plan.batch_size is not None:
            columns["batch"] = batches
        if self._full:
            columns["draws"] = self._draws(positions, chunks)
            columns["content"] = digest_column([chunk.content for chunk in chunks], counts)
        if self._ids_are_places:
            columns["index"] = index
        if self._plan.workers:
            columns["worker"] = batches % self._plan.workers
        columns["resumed"] = np.repeat([chunk.resumed for chunk in chunks], counts)
        return pa.table(columns)

    def _note_seeds(self, passes: NDArray[np.int64]) -> None:
        if self._plan.shuffle and self._plan.seed is not None:
            for number in passes[np.flatnonzero(np.diff(passes, prepend=-1))].tolist():
                self.seeds[pass_seed(self._plan.seed, number)] = None

    def _draws(self, positions: NDArray[np.int64], chunks: Sequence[_Delivered]) -> pa.Array[Any]:
        taken = np.frombuffer(b"".join(chunk.taken for chunk in chunks), np.uint32)
        return pa.array(digest_draws(self._key, positions, taken), mask=taken == 0)
