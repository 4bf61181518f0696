"""Nodes and functions that stand in a witnessed copy of a user's Grain graph.

Below the probe, elements are the user's own, and what is read and drawn while one of them
is made is noted aside. From the probe on each element is paired with its `Rows`, so that
filters, shuffles and batches move both alike.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import grain
import numpy as np
from grain._src.python.data_loader import _SamplerMapDataset
from grain._src.python.dataset.transformations.source import RangeMapDataset, SourceMapDataset
from grain._src.python.record import Record

from detloader.adapters.grain.rows import Draw, Packed, Read, Rows, attribute
from detloader.grain.iterators import PassingIterator
from detloader.manifest.content import UndigestibleError
from detloader.manifest.rounding import Digester
from detloader.randomness import philox_place

__all__ = [
    "Batching",
    "Choosing",
    "Drawing",
    "Indexing",
    "Mapping",
    "PassCounter",
    "Passing",
    "Probe",
    "Seal",
    "WitnessedLeaf",
    "WitnessedRange",
    "WitnessedSource",
]

Pair: TypeAlias = tuple[Any, Rows]


class _Notes(threading.local):
    """What this thread saw while it made one element; None while it makes none."""

    events: list[Read | Draw] | None = None


_notes = _Notes()


def _note(event: Read | Draw) -> None:
    if _notes.events is not None:
        _notes.events.append(event)


class WitnessedSource(SourceMapDataset):
    """A source that notes what is read of it."""

    def __init__(self, original: SourceMapDataset, number: int) -> None:
        self.__dict__.update(original.__dict__)
        self.__dict__.pop("_stats", None)
        self.number = number
        self.first = 0

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            self._note(index)
        return super().__getitem__(index)

    def _getitems(self, indices: Sequence[int]) -> Any:
        for index in indices:
            self._note(index)
        return super()._getitems(indices)

    def set_slice(self, sl: slice, sequential_slice: bool = False) -> None:  # noqa: FBT001, FBT002
        """Keep a worker's contiguous part, and remember where it begins."""
        self.first = self._get_sequential_slice(sl).start
        super().set_slice(sl, sequential_slice)

    def _note(self, index: int) -> None:
        try:
            epoch, place = divmod(index, len(self._source))
        except TypeError:  # an old sampler's source has no length
            epoch, place = 0, index
        _note(Read(self.number, epoch, self.first + place))


class WitnessedRange(RangeMapDataset):
    """A range that notes what is read of it."""

    def __init__(self, original: RangeMapDataset, number: int) -> None:
        self.__dict__.update(original.__dict__)
        self.__dict__.pop("_stats", None)
        self.number = number

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            epoch, place = divmod(index, len(self))
            first = (self.start - self.original_start) // self.step
            _note(Read(self.number, epoch, first + place))
        return super().__getitem__(index)


class WitnessedLeaf(grain.MapDataset[Any]):
    """A dataset of the user's own class, which has no parents, and so is a source."""

    def __init__(self, original: grain.MapDataset[Any], number: int) -> None:
        super().__init__()
        self._original = original
        self.number = number

    def __len__(self) -> int:
        """Return the source's length."""
        return len(self._original)

    def __getitem__(self, index: Any) -> Any:
        """Read one record, and note it."""
        if isinstance(index, slice):
            return self.slice(index)
        epoch, place = divmod(index, len(self._original))
        _note(Read(self.number, epoch, place))
        return self._original[index]


class Drawing:
    """A random transform that notes what it draws; on pairs, it adds the draw to the rows."""

    def __init__(self, function: Callable[..., Any], operation: int, *, pairs: bool) -> None:
        self._function = function
        self._operation = operation
        self._pairs = pairs

    def __call__(self, element: Any, rng: np.random.Generator) -> Any:
        """Transform, then read the generator's own counter."""
        if not self._pairs:
            made = self._function(element, rng)
            _note(self._draw(rng))
            return made
        sample, rows = element
        made = self._function(sample, rng)
        return None if made is None else (made, rows.drawn(self._draw(rng)))

    def _draw(self, rng: np.random.Generator) -> Draw:
        place = philox_place(rng.bit_generator)
        return Draw(self._operation, place.position, place.words)


class Mapping:
    """A transform, applied to the first of a pair."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def __call__(self, pair: Pair) -> Pair | None:
        """Transform the element."""
        sample, rows = pair
        made = self._function(sample)
        if made is None:
            return None
        # A record that loses its generator here has drawn all that it will.
        return made, rows if isinstance(made, Record) else _closed(sample, rows)


class Indexing:
    """A transform that gets an index, applied to the first of a pair."""

    def __init__(self, function: Callable[[int, Any], Any]) -> None:
        self._function = function

    def __call__(self, index: int, pair: Pair) -> Pair | None:
        """Transform the element."""
        made = self._function(index, pair[0])
        return None if made is None else (made, pair[1])


class Choosing:
    """A filter, asked about the first of a pair."""

    def __init__(self, function: Callable[[Any], bool]) -> None:
        self._function = function

    def __call__(self, pair: Pair) -> bool:
        """Ask about the element."""
        return self._function(pair[0])


class Batching:
    """A batch function, applied to the elements; the rows are joined."""

    def __init__(self, function: Callable[[Sequence[Any]], Any]) -> None:
        self._function = function

    def __call__(self, pairs: Sequence[Pair]) -> Pair:
        """Make the batch."""
        samples = [sample for sample, _ in pairs]
        made = self._function(samples)
        return made, Rows.joined([_closed(sample, rows) for sample, rows in pairs])


class Probe(grain.MapDataset[Any]):
    """Pairs each element with what was read and drawn for it."""

    def __init__(self, parent: grain.MapDataset[Any]) -> None:
        super().__init__(parent)
        self._records = len(parent.parents[0]) if isinstance(parent, _SamplerMapDataset) else None

    def __len__(self) -> int:
        """Return the parent's length."""
        return len(self._parent)

    def __getitem__(self, index: Any) -> Any:
        """Make one element; one that a filter left out stays None."""
        if isinstance(index, slice):
            return self.slice(index)
        events: list[Read | Draw] = []
        _notes.events = events
        try:
            element = self._parent[index]
        finally:
            _notes.events = None
        return None if element is None else (element, self._rows(index, element, events))

    def _rows(self, index: int, element: Any, events: Sequence[Read | Draw]) -> Rows:
        rows = attribute(index, events)
        if not self._records:
            return rows
        # A sampler's own index counts on through the passes; the source is asked for a key.
        return rows.later(element.metadata.index // self._records)


class PassCounter(grain.IterDataset[Any]):
    """Counts on the epochs of a stream that is started again and again by a `repeat` above."""

    def __iter__(self) -> grain.DatasetIterator[Any]:
        """Begin with the first pass."""
        return _CountedPasses(self._parent.__iter__())


class Passing(PassingIterator):
    """An iterator that stands where its parent does."""

    def _get_next_index(self) -> int:
        return int(self._parent._get_next_index())  # noqa: SLF001 - as Grain's nodes do

    def _set_next_index(self, next_index: int) -> None:
        self._parent._set_next_index(next_index)  # noqa: SLF001


class _CountedPasses(Passing):
    def __init__(self, parent: grain.DatasetIterator[Any]) -> None:
        super().__init__(parent)
        self._before = 0
        self._epochs = 0
        self._ended = False

    def __next__(self) -> Any:
        try:
            element, rows = next(self._parent)
        except StopIteration:
            self._ended = True
            raise
        if self._ended:
            self._before += self._epochs
            self._epochs, self._ended = 0, False
        self._epochs = max(self._epochs, 1 + max(read.epoch for read in rows.reads))
        return element, rows.later(self._before)


class Seal(grain.IterDataset[Any]):
    """Turns rows into bytes before an element leaves its process, with its content's digests."""

    def __init__(
        self,
        parent: grain.IterDataset[Any],
        operations: int,
        *,
        batched: bool,
        digester: Digester | None,
    ) -> None:
        super().__init__(parent)
        self._operations = operations
        self._batched = batched
        self._digester = digester

    def __iter__(self) -> grain.DatasetIterator[Any]:
        """Begin with the parent."""
        return _Sealed(self._parent.__iter__(), self._seal)

    def _seal(self, element: Any, rows: Rows | Packed, digests: bytes = b"") -> Any:
        if isinstance(rows, Packed):
            return element, rows, digests  # as a worker sealed it
        packed = _closed(element, rows).pack(self._operations)
        if self._digester is not None:
            digests = _digests(self._digester, element, packed.size, batched=self._batched)
        return element, packed, digests


class _Sealed(Passing):
    def __init__(self, parent: grain.DatasetIterator[Any], seal: Callable[..., Any]) -> None:
        super().__init__(parent)
        self._seal = seal

    def __next__(self) -> Any:
        return self._seal(*next(self._parent))


def _closed(element: Any, rows: Rows) -> Rows:
    """Add what was drawn from the generator that a `grain.DataLoader` gives each record."""
    if not isinstance(element, Record) or any(rows.draws):
        return rows
    rng = element.metadata.rng
    if rng is None:
        return rows
    place = philox_place(rng.bit_generator)
    return rows.drawn(Draw(0, place.key, place.words)) if place.words else rows


def _digests(digester: Digester, element: Any, count: int, *, batched: bool) -> bytes:
    """Give the digests of an element's samples; nothing where they cannot be told apart."""
    try:
        if not batched:
            return digester.samples([element]).tobytes() * count
        digests = digester.batch(element)
    except UndigestibleError:
        return b""
    return digests.tobytes() if len(digests) == count else b""
