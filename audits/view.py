"""One stream of one run, as the rules see it: arrays in canonical order, and what was declared."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from detloader.audits.integers import count_others, distinct
from detloader.audits.reading import RECORD_IDS, Columns, Sources, stored_columns
from detloader.audits.rule import CannotTell
from detloader.manifest.schema import is_compared

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from detloader.audits.columns import Column, Flags, Integers
    from detloader.audits.reading import Source
    from detloader.findings import JsonValue, RecordId
    from detloader.manifest.reader import Stream

__all__ = ["SUBSTITUTES", "StreamView", "load_views"]

SUBSTITUTES = 0.05
"""Share of rows up to which a record that stands at another's place may have come instead."""


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamView:
    """Rows of one stream of one run, in canonical order.

    Attributes:
        path: where the run lies, for the commands that a finding names.
        stream: the stream as it was opened.
        record: IDs; codes where they are strings. Views loaded together share codes.
        epoch: shape (rows,), int64; zeros where the run has no epochs.
        rank: shape (rows,), int64.
        compared: the other compared columns, by name; each is read when it is asked for.
        named: other columns of record IDs that are strings, in the codes of `record`.
        source: where columns of the whole stream are read.
        selection: shape (rows,), int64; which rows of the whole stream these are. None
            where they are all of them.
        baseline: the run that this one is compared with; None in a check, and for the baseline.
        otherwise: entries of the configuration that differ in the other run of an audit.
    """

    path: str
    stream: Stream
    record: Column
    epoch: Integers
    rank: Integers
    compared: Columns
    named: Columns
    source: Source
    selection: Integers | None = None
    baseline: StreamView | None = None
    otherwise: Mapping[str, JsonValue] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Count the rows."""
        return len(self.record)

    @property
    def complete(self) -> bool:
        """Tell whether the recording holds the whole run."""
        return self.stream.complete

    @cached_property
    def ranks(self) -> int:
        """Count the ranks that delivered rows."""
        return len(distinct(self.rank))

    @cached_property
    def position(self) -> Integers:
        """Give the place of each row in its rank, in delivery order; shape (rows,), int64."""
        placement = self.source.placement
        if placement.order is None and self.selection is not None:
            return self.selection
        position = placement.position()
        return position if self.selection is None else position[self.selection]

    @cached_property
    def is_delivery_order(self) -> bool:
        """Tell whether the rows stand in the order in which one rank delivered them."""
        if self.ranks > 1:
            return False
        rows = self.selection
        return rows is None or bool((rows[1:] > rows[:-1]).all())

    @cached_property
    def places(self) -> Integers | None:
        """Give the place of each row in the source; None where none is known, or there are several.

        Those of several sources, of mixtures or of ranks, have other records at one place.
        """
        if not self.has("index"):
            return None
        index = self.column("index")
        is_whole = index.vocabulary is None and index.values.dtype.kind in "iu"
        if not is_whole or index.missing().any():
            return None
        places = index.values.astype(np.int64, copy=False)
        others = count_others(places, self.record.values)
        return places if others <= SUBSTITUTES * self.rows else None

    @cached_property
    def asked(self) -> Integers:
        """Give what tells whether two rows are of one record: what was asked for.

        That is `asked`, else the place in the source, for a record may stand at several; where
        neither is known, it is what came. Shape (rows,), int64.
        """
        if self.has("asked"):
            return self.as_records("asked").values
        return self.record.values if self.places is None else self.places

    def has(self, name: str) -> bool:
        """Tell whether the run recorded this column."""
        return name in stored_columns(self.stream)

    def declared(self, name: str) -> Any:
        """Give a declared field, or None where it is undeclared (or declared as null)."""
        value = getattr(self.stream.declared, name)
        return None if value is msgspec.UNSET else value

    def config(self, name: str) -> JsonValue:
        """Give an entry of the declared configuration, or None."""
        return (self.declared("config") or {}).get(name)

    @property
    def filters(self) -> bool:
        """Tell whether the declared configuration has a filter."""
        return any(name.startswith("filter") for name in self.declared("config") or {})

    def require(self, *names: str) -> None:
        """Make sure that columns were recorded, or fields declared.

        Raises:
            CannotTell: one was not; it names all that are missing.
        """
        missing = [name for name in names if not self._knows(name)]
        if missing:
            raise CannotTell(*missing)

    def _knows(self, name: str) -> bool:
        if name in self.stream.declared.__struct_fields__:
            return getattr(self.stream.declared, name) is not msgspec.UNSET
        return self.has(name)

    def column(self, name: str) -> Column:
        """Give any recorded column, as a column of its own vocabulary."""
        if name == "record":
            return self.record
        if name in self.compared:
            return self.compared[name]
        column = self.source.read(name)
        return column if self.selection is None else column.take(self.selection)

    def as_records(self, name: str) -> Column:
        """Give `record`, or another column of record IDs, in the codes of `record`.

        Raises:
            CannotTell: the IDs are of another type than those of `record`.
        """
        if name == "record":
            return self.record
        if name in self.named:
            return self.named[name]
        column = self.column(name)
        if column.vocabulary is not None or self.record.vocabulary is not None:
            raise CannotTell(f"{name}, as IDs of the type that record has")
        return column

    def identify(self, codes: Integers) -> list[RecordId]:
        """Give the record IDs that codes stand for."""
        if self.record.vocabulary is None:
            numbers: list[RecordId] = codes.tolist()
            return numbers
        texts = self.record.vocabulary.to_pylist()
        return [texts[code] for code in codes.tolist()]

    def take(self, rows: Integers | Flags | slice) -> StreamView:
        """Keep these rows, in this order."""
        if isinstance(rows, slice) and rows.indices(self.rows) == (0, self.rows, 1):
            return self
        selection = self._select(rows)
        return replace(
            self,
            record=self.record.take(rows),
            epoch=self.epoch[rows],
            rank=self.rank[rows],
            compared=self.compared.only(self.compared, selection),
            named=self.named.only(self.named, selection),
            selection=selection,
        )

    def _select(self, rows: Integers | Flags | slice) -> Integers:
        if self.selection is not None:
            return self.selection[rows]
        if isinstance(rows, slice):
            return np.arange(*rows.indices(self.rows))
        chosen: Integers = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows.astype(np.int64)
        return chosen

    def delivery_order(self) -> Integers:
        """Give the rows rank by rank, each in delivery order; shape (rows,), int64."""
        if self.is_delivery_order:
            return np.arange(self.rows)
        order: Integers = np.lexsort((self.position, self.rank))
        return order

    @cached_property
    def epochs(self) -> dict[int, slice | Integers]:
        """Give what picks the rows of each epoch: a slice, which copies none, where it can."""
        return dict(_groups(self.epoch))

    def by_epoch(self) -> Iterator[tuple[int, Integers]]:
        """Give the rows of each epoch, in canonical order."""
        for epoch, rows in self.epochs.items():
            yield epoch, _numbers(rows)

    def by_rank(self) -> Iterator[tuple[int, Integers]]:
        """Give the rows of each rank, in delivery order."""
        for rank, picked in _groups(self.rank):
            rows = _numbers(picked)
            if self.is_delivery_order:
                yield rank, rows
            else:
                yield rank, rows[np.argsort(self.position[rows], kind="stable")]


def _groups(labels: Integers) -> Iterator[tuple[int, slice | Integers]]:
    """Give what picks the rows of each label, labels ascending: slices where they ascend."""
    if not len(labels):
        return
    ascending = bool((labels[1:] >= labels[:-1]).all())
    order = None if ascending else np.argsort(labels, kind="stable")
    grouped = labels if order is None else labels[order]
    starts = [0, *(np.flatnonzero(grouped[1:] != grouped[:-1]) + 1).tolist(), len(labels)]
    for start, stop in itertools.pairwise(starts):
        rows = slice(start, stop)
        yield int(grouped[start]), rows if order is None else order[rows]


def _numbers(rows: slice | Integers) -> Integers:
    return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows


def load_views(
    sources: Sequence[tuple[str, Stream]], rows: range | None = None
) -> list[StreamView]:
    """Read record, epoch and rank of streams; equal strings get equal codes in all of them.

    Args:
        sources: for each view the path of its run, and its stream.
        rows: the rows to look at, of streams of one sealed rank; None for all.
    """
    together = Sources([stream for _, stream in sources], rows)
    return [_make_view(path, together[place]) for place, (path, _) in enumerate(sources)]


def _make_view(path: str, source: Source) -> StreamView:
    stream = source.stream
    types, stored = stream.columns, stored_columns(stream)
    record = source.read("record")
    named = [
        name
        for name in RECORD_IDS
        if name != "record" and name in stored and types[name] == types["record"] == "string"
    ]
    return StreamView(
        path=path,
        stream=stream,
        record=record,
        epoch=_epochs(source, len(record)),
        rank=source.placement.rank,
        compared=Columns(
            (name for name in stored if is_compared(name) and name not in {"record", "epoch"}),
            source.read,
        ),
        named=Columns(named, source.read),
        source=source,
    )


def _epochs(source: Source, rows: int) -> Integers:
    if "epoch" not in stored_columns(source.stream):
        return np.broadcast_to(np.int64(0), rows)
    epochs: Integers = source.read("epoch").values
    return epochs
