"""Records data sets of MosaicML Streaming, iterated without a loader around them.

A sample's ID is its number in the data set, over all streams and shards. The data set counts
its epochs itself. Inside a loader of Torch the loader is what is recorded, and asks here
which sample it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from streaming import StreamingDataset

from detloader.adapters.builtins import RecordedIterable
from detloader.adapters.elements import Delivered, ElementReader
from detloader.adapters.ids import id_array
from detloader.adapters.request import Request
from detloader.errors import UsageError
from detloader.manifest.schema import Level
from detloader.recorder import Recorder

__all__ = ["RecordedStreaming", "declared_of", "iterate", "rank_of", "suits", "wrap"]

_NOTHING = object()


def suits(loader: object) -> bool:
    """Tell whether this is a data set of MosaicML Streaming."""
    return isinstance(loader, StreamingDataset)


def rank_of(loader: StreamingDataset) -> tuple[int, int] | None:
    """Return the rank that a data set reads for, and how many there are; None if for one."""
    world = loader._unique_rank_world  # noqa: SLF001 - nothing else says so
    return (world.rank, world.num_ranks) if world.num_ranks > 1 else None


def wrap(loader: StreamingDataset, request: Request) -> RecordedStreaming:
    """Start recording a data set.

    Raises:
        UsageError: elements are said to be batches.
    """
    if request.batched:
        raise UsageError("a streaming data set yields samples: leave batched out")
    ids = request.ids
    of_elements = ids if isinstance(ids, str) or callable(ids) else None
    names = None if ids is None or of_elements is not None else id_array(ids, loader.size)
    reader = ElementReader(
        of_elements,
        batched=False,
        content=request.level is not Level.ORDER,
        digester=request.digester,
    )
    recorder = Recorder(request.writer(**declared_of(loader)), reader.encode)
    return RecordedStreaming(loader, reader, recorder, names, numbered=of_elements is None)


def declared_of(loader: StreamingDataset) -> dict[str, Any]:
    """Return what a data set says of itself."""
    config = {
        name: getattr(loader, name, None)
        for name in ("shuffle_algo", "num_canonical_nodes", "batching_method", "replication")
    }
    declared = {
        "loader": "streaming.StreamingDataset",
        "shuffle": loader.shuffle,
        "seed": loader.shuffle_seed,
        "source_size": loader.size,
        "num_samples": loader.epoch_size,
        "batch_size": loader.batch_size,
        "config": {name: value for name, value in config.items() if value is not None},
    }
    return {name: value for name, value in declared.items() if value is not None}


def iterate(dataset: StreamingDataset, note: Callable[[int], object]) -> Iterator[Any]:
    """Iterate a data set; each number is noted before its sample is read.

    The data set looks up how it reads a sample when the first one is asked for: until then a
    function that notes stands in its way, on this object alone.
    """
    read = dataset.__getitem__

    def noting(number: Any) -> Any:
        note(int(number))
        return read(number)

    iterator = iter(dataset)
    dataset.__getitem__ = noting
    try:
        first = next(iterator, _NOTHING)
    finally:
        del dataset.__getitem__
    if first is not _NOTHING:
        yield first
        yield from iterator


class RecordedStreaming(RecordedIterable):
    """A data set that records what it yields; every attribute is the data set's own."""

    def __init__(
        self,
        loader: StreamingDataset,
        reader: ElementReader,
        recorder: Recorder[Delivered],
        names: pa.Array[Any] | None,
        *,
        numbered: bool,
    ) -> None:
        super().__init__(loader, reader, recorder)
        self._names = names
        self._numbered = numbered
        self._noted: list[int] = []

    def __iter__(self) -> Iterator[Any]:
        """Iterate the data set once, in the epoch that it is in."""
        noted: list[int] = []
        self._noted = noted
        return self._steps(iterate(self._original, noted.append))

    def _begin_epoch(self) -> int:
        # An iteration that has begun has counted on.
        return int(self._original.next_epoch) - 1

    def _read(self, element: Any, epoch: int, number: int) -> Delivered:
        place = self._noted.pop()
        self._noted.clear()
        known = [place if self._names is None else self._names[place].as_py()]
        return self._reader.read(element, epoch, number, known if self._numbered else None)
