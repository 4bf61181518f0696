"""The recorded twins of Grain's datasets and loaders, and the rows that they leave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import grain
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from detloader.adapters.digests import digest_column
from detloader.adapters.grain.nodes import Passing
from detloader.adapters.grain.rewrite import Graph
from detloader.adapters.grain.rows import Packed, unpack
from detloader.generators.folding import fold_draws
from detloader.randomness import digest_draws, stream_key
from detloader.recorder import Recorder, Sealing

__all__ = ["Delivered", "RecordedDataLoader", "RecordedDataset", "RowEncoder"]


class Delivered(NamedTuple):
    """One element that the loop was given."""

    packed: Packed
    content: bytes
    first_epoch: int
    number: int
    resumed: bool

    @property
    def rows(self) -> int:
        """Number of records."""
        return self.packed.size


class RecordedDataset(Sealing, grain.IterDataset[Any]):
    """A Grain dataset that records what it delivers; elements and states are unchanged.

    Each `iter()` begins the dataset again; its epochs are counted on from those before.
    """

    def __init__(self, graph: Graph, recorder: Recorder[Delivered]) -> None:
        super().__init__(graph.top)
        self.has_child = True  # keeps `__next__` from being replaced, as of an outermost node
        self._recorder = recorder
        self.next_epoch = 0
        self.next_number = 0

    def __iter__(self) -> grain.DatasetIterator[Any]:
        """Begin at the first element, in the next epoch."""
        return _RecordedIterator(self._parent.__iter__(), self, self._recorder)


class _RecordedIterator(Passing):
    def __init__(
        self,
        parent: grain.DatasetIterator[Any],
        dataset: RecordedDataset,
        recorder: Recorder[Delivered],
    ) -> None:
        super().__init__(parent)
        self._dataset = dataset
        self._put = recorder.put
        self._breaks = recorder.breaks
        self._first_epoch: int | None = None
        self._number = 0
        self._resumed = False

    def __next__(self) -> Any:
        with self._breaks:
            element, packed, content = next(self._parent)
        dataset = self._dataset
        if self._first_epoch is None:
            # Not before the first element: an iterator may be made and never used.
            self._first_epoch = 0 if self._resumed else dataset.next_epoch
            self._number = dataset.next_number if self._resumed else 0
        last = int(np.frombuffer(packed.reads, np.int64)[1::3].max(initial=0))
        dataset.next_epoch = max(dataset.next_epoch, self._first_epoch + last + 1)
        self._put(Delivered(packed, content, self._first_epoch, self._number, self._resumed))
        self._number += 1
        dataset.next_number = self._number
        return element

    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self._resumed = True
        self._first_epoch = None


class RecordedDataLoader(Sealing, grain.DataLoader):
    """A `grain.DataLoader` that records what it delivers."""

    def __init__(
        self, original: grain.DataLoader, graph: Graph, recorder: Recorder[Delivered]
    ) -> None:
        self.__dict__.update(original.__dict__)
        self._dataset = RecordedDataset(graph, recorder)
        self._recorder = recorder


class RowEncoder:
    """Makes the rows of what was delivered, in the recorder's thread."""

    def __init__(self, graph: Graph, ids: pa.Array[Any] | None, *, full: bool) -> None:
        """Take the graph for its sources and seeds, and the IDs of the records of its source."""
        self._graph = graph
        self._ids = ids
        self._full = full

    def encode(self, chunks: Sequence[Delivered]) -> pa.Table:
        """Return one row for each record, in delivery order."""
        counts = np.array([chunk.rows for chunk in chunks])
        seeds = self._graph.seeds or [None]
        reads, streams, words = unpack([chunk.packed for chunk in chunks], len(seeds))
        source, epoch, index = reads.T
        columns: dict[str, Any] = {
            "record": self._records(source, index),
            "epoch": epoch + np.repeat([chunk.first_epoch for chunk in chunks], counts),
        }
        if self._graph.batched:
            columns["batch"] = np.repeat([chunk.number for chunk in chunks], counts)
        if self._full:
            columns["draws"] = _draws(seeds, streams, words)
            columns["content"] = digest_column([chunk.content for chunk in chunks], counts)
        if len(self._graph.sources) > 1:
            columns["mixture"] = source
        if self._ids is not None:
            columns["index"] = index
        columns["resumed"] = np.repeat([chunk.resumed for chunk in chunks], counts)
        return pa.table(columns)

    def _records(self, source: NDArray[np.int64], index: NDArray[np.int64]) -> Any:
        if self._ids is not None:
            return self._ids.take(index)
        if len(self._graph.sources) == 1:
            return index
        return [f"{number}:{place}" for number, place in zip(source, index, strict=True)]


def _draws(
    seeds: Sequence[int | None], streams: NDArray[np.int64], words: NDArray[np.uint32]
) -> pa.Array[Any]:
    """Digest the draws of each record; those of several transforms are folded, in order.

    A chain of one transform has the digests that `to_grain` has.
    """
    folded = np.zeros(len(streams), np.uint64)
    for operation, seed in enumerate(seeds):
        key = np.zeros(2, np.uint64) if seed is None else stream_key(seed)
        taken = words[:, operation]
        digest = digest_draws(key, streams[:, operation], taken)
        folded = fold_draws(folded, np.where(taken == 0, np.uint64(0), digest))
    return pa.array(folded, mask=np.asarray(~words.any(axis=1)))
