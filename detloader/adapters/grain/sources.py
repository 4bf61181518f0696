"""Sources that note what is read of them, and the probe that asks what was noted.

Between the two, elements are the user's own. What a thread reads and draws while it makes one of
them is noted aside; the probe pairs the element with it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import grain
from grain._src.python.data_loader import _SamplerMapDataset
from grain._src.python.dataset.transformations.source import RangeMapDataset, SourceMapDataset

from detloader.adapters.grain.rows import Draw, Read, Rows, attribute

__all__ = ["Probe", "WitnessedLeaf", "WitnessedRange", "WitnessedSource", "note", "reading_later"]


class _Notes(threading.local):
    """What this thread saw while it made one element; None while it makes none."""

    events: list[Read | Draw] | None = None


_notes = _Notes()


def note(event: Read | Draw) -> None:
    """Note what happened while this thread makes an element."""
    if _notes.events is not None:
        _notes.events.append(event)


@contextmanager
def reading_later(epochs: Mapping[int, int]) -> Iterator[None]:
    """Count so many epochs more, by the number of the source, for what is read meanwhile."""
    events = _notes.events
    before = len(events or ())
    yield
    if events is not None and any(epochs.values()):
        for place, event in enumerate(events[before:], before):
            if isinstance(event, Read):
                events[place] = event._replace(epoch=event.epoch + epochs[event.source])


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
        note(Read(self.number, epoch, self.first + place))


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
            note(Read(self.number, epoch, first + place))
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
        note(Read(self.number, epoch, place))
        return self._original[index]


class Probe(grain.MapDataset[Any]):
    """Pairs each element with what was read and drawn for it."""

    def __init__(self, parent: grain.MapDataset[Any]) -> None:
        super().__init__(parent)
        self._pass = _length_of_pass(parent) if isinstance(parent, _SamplerMapDataset) else 0

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
        if not self._pass:
            return rows
        # A sampler's own index counts on through the passes; the source is asked for a key.
        return rows.later(element.metadata.index // self._pass)


def _length_of_pass(sampled: _SamplerMapDataset) -> int:
    """Return how many records a sampler deals out in each pass over its source."""
    size, shards = len(sampled.parents[0]), sampled._shard_options  # noqa: SLF001
    return size - size % shards.shard_count if shards.drop_remainder else size
