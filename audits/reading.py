"""Columns of several streams, read when they are first asked for.

A run of ten million rows has 80 MB in each column, and most questions need few of them:
what was read stays at hand as far as it fits, and is read again where it did not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from detloader.audits.columns import Column, as_codes
from detloader.audits.integers import tally
from detloader.audits.naming import RenamedStream, read_named
from detloader.manifest.arrays import to_numpy
from detloader.manifest.relative import RECORD_IDS
from detloader.manifest.schema import is_compared, is_stored
from detloader.manifest.tables import Placement, read_numbers, read_placement

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from detloader.audits.columns import Integers
    from detloader.manifest.reader import Stream

__all__ = ["RECORD_IDS", "Columns", "Source", "Sources", "stored_columns"]

VIEWED = ("record", "epoch")
"""Columns that views hold: to let go of them here would save nothing."""

MOST_BYTES = 200_000_000
"""Bytes of other columns that are kept at hand."""


class Sources:
    """Streams that are looked at together; equal strings get equal codes in all of them."""

    def __init__(self, streams: Sequence[Stream], rows: range | None = None) -> None:
        """Take the streams, and which rows of them; nothing is read yet."""
        self._streams = streams
        self._rows = rows
        self._kept: dict[tuple[int, str], Column] = {}
        self._placements: dict[int, Placement] = {}

    def __getitem__(self, place: int) -> Source:
        """Give one of the streams."""
        return Source(self, place, self._streams[place])

    def placement(self, place: int) -> Placement:
        """Give the canonical order of a stream."""
        if place not in self._placements:
            self._placements[place] = read_placement(self._streams[place], self._rows)
        return self._placements[place]

    def read(self, place: int, name: str) -> Column:
        """Give a whole column of a stream, in canonical order."""
        if (place, name) not in self._kept:
            self._keep(self._read_together(place, name))
        return self._kept[place, name]

    def _read_together(self, place: int, name: str) -> dict[tuple[int, str], Column]:
        """Read a column, and those whose codes it shares."""
        shared = range(len(self._streams)) if is_compared(name) else [place]
        names = [name]
        if self._streams[place].columns[name] == "string" and name in RECORD_IDS:
            shared, names = range(len(self._streams)), list(RECORD_IDS)
        holders = [
            (holder, member)
            for holder in shared
            for member in names
            if member in stored_columns(self._streams[holder])
            and (member == name or self._streams[holder].columns[member] == "string")
        ]
        with ThreadPoolExecutor() as threads:
            loaded = self._load(holders, threads)
        return {
            key: self._placed(key[0], column) for key, column in zip(holders, loaded, strict=True)
        }

    def _load(self, holders: list[tuple[int, str]], threads: ThreadPoolExecutor) -> list[Column]:
        """Read columns; those that have equal digests in their headers are read once."""
        contents = [self._contents(place, name) for place, name in holders]
        once: dict[object, tuple[int, str]] = {}
        for content, holder in zip(contents, holders, strict=True):
            once.setdefault(content, holder)
        streams = [self._streams[place] for place, _ in once.values()]
        names = [name for _, name in once.values()]
        rows = repeat(self._rows)
        types = [stream.columns[name] for stream, name in zip(streams, names, strict=True)]
        if "string" in types:
            loaded = as_codes([*threads.map(read_named, streams, names, rows)])
        else:
            loaded = [
                Column(_compact(values), absent, digest=type_ == "uint64")
                for (values, absent), type_ in zip(
                    threads.map(_read_numbers, streams, names, rows), types, strict=True
                )
            ]
        found = dict(zip(once, loaded, strict=True))
        return [found[content] for content in contents]

    def _contents(self, place: int, name: str) -> object:
        """Give what is equal for columns whose headers say that their values are."""
        digests = self._streams[place].digests
        return (place, name) if digests is None else digests[name]

    def _placed(self, place: int, column: Column) -> Column:
        order = self.placement(place).order
        return column if order is None else column.take(order)

    def _keep(self, columns: dict[tuple[int, str], Column]) -> None:
        kept = self._kept | columns
        for key in [*self._kept]:
            others = [column for (_, name), column in kept.items() if name not in VIEWED]
            if key[1] not in VIEWED and _bytes(others) > MOST_BYTES:
                kept.pop(key)
        self._kept = kept


@dataclass(frozen=True, eq=False)
class Source:
    """One stream, whose columns are read when they are asked for."""

    sources: Sources
    place: int
    stream: Stream

    @property
    def placement(self) -> Placement:
        """Give the canonical order of its rows."""
        return self.sources.placement(self.place)

    def read(self, name: str) -> Column:
        """Give a whole column, in canonical order."""
        return self.sources.read(self.place, name)

    @cached_property
    def label_0_is_one_batch(self) -> bool:
        """Tell whether each rank has one batch of label 0 at most, by how many rows have it.

        Labels that begin anew with each epoch have such a batch in each. Where there is no other
        label, and an epoch has room in a batch, each may be one.
        """
        size, label = self.stream.declared.batch_size, self.read("batch").values
        if not isinstance(size, int) or not (label.any() or self._records_of_epoch() > size):
            return False
        return int(tally(self.placement.rank[label == 0])[1].max(initial=0)) <= size

    def _records_of_epoch(self) -> float:
        """Give how many records a rank delivers in an epoch, as far as it is declared; else 0."""
        declared = self.stream.declared
        told = (declared.num_samples, declared.source_size)
        records = next((count for count in told if isinstance(count, int)), 0)
        return records / len(self.stream.ranks)


class Columns(Mapping[str, Column]):
    """Columns of some rows of a stream, by name."""

    def __init__(
        self, names: Iterable[str], read: Callable[[str], Column], rows: Integers | None = None
    ) -> None:
        """Take the names, how to read a whole column, and the rows; None stands for all."""
        self._names = dict.fromkeys(names)
        self._read = read
        self._rows = rows

    def __getitem__(self, name: str) -> Column:
        """Read a column, or give it from what is at hand."""
        if name not in self._names:
            raise KeyError(name)
        column = self._read(name)
        return column if self._rows is None else column.take(self._rows)

    def only(self, names: Iterable[str], rows: Integers | None) -> Columns:
        """Keep these columns, of these rows of the whole stream."""
        return Columns(names, self._read, rows)

    def __iter__(self) -> Iterator[str]:
        """Give the names."""
        return iter(self._names)

    def __len__(self) -> int:
        """Count the columns."""
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        """Tell whether there is such a column, without reading it."""
        return name in self._names


def _read_numbers(stream: Stream, name: str, rows: range | None) -> tuple[Any, Any]:
    if isinstance(stream, RenamedStream) and name in RECORD_IDS:
        return to_numpy(read_named(stream, name, rows).combine_chunks())
    return read_numbers(stream, name, rows)


def stored_columns(stream: Stream) -> list[str]:
    """Name the columns whose rows were kept."""
    return [name for name in stream.columns if is_stored(name, stream.level)]


def _compact(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Give values that are all the same as a view of one of them."""
    if len(values) and values[0] == values[-1] and (values == values[0]).all():
        return np.broadcast_to(values[0], len(values))
    return values


def _bytes(columns: Iterable[Column]) -> int:
    """Count the bytes of columns, of which some are held by several streams."""
    arrays = {id(column.values): column.values for column in columns}
    return sum(array.nbytes for array in arrays.values() if any(array.strides))
