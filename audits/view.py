"""One stream of one run, as the rules see it: arrays in canonical order, and what was declared."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from detloader.audits.columns import Column, as_columns
from detloader.audits.integers import distinct
from detloader.audits.rule import CannotTell
from detloader.manifest.schema import is_compared, is_stored

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from detloader.audits.columns import Flags, Integers
    from detloader.findings import JsonValue, RecordId
    from detloader.manifest.reader import Stream

__all__ = ["StreamView", "load_views", "stored_columns"]

RECORD_IDS = ("record", "asked")
"""Columns of record IDs; where they are strings, they have one vocabulary."""


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamView:
    """Rows of one stream of one run, in canonical order.

    Attributes:
        path: where the run lies, for the commands that a finding names.
        stream: the stream as it was opened.
        record: IDs; codes where they are strings. Views loaded together share codes.
        epoch: shape (rows,), int64; zeros where the run has no epochs.
        rank: shape (rows,), int64.
        position: shape (rows,), int64; place in the rank, in delivery order.
        compared: the other compared columns, by name.
        named: other columns of record IDs that are strings, in the codes of `record`.
        selection: shape (rows,), int64; which rows of the whole stream these are.
        baseline: the run that this one is compared with; None in a check, and for the baseline.
    """

    path: str
    stream: Stream
    record: Column
    epoch: Integers
    rank: Integers
    position: Integers
    compared: dict[str, Column]
    named: dict[str, Column]
    selection: Integers
    baseline: StreamView | None = None
    # Columns of all rows of the stream, read when first asked for; selections share them.
    _whole: dict[str, Column] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Count the rows."""
        return len(self.record)

    @property
    def complete(self) -> bool:
        """Tell whether the recording holds the whole run."""
        return self.stream.complete

    @property
    def ranks(self) -> int:
        """Count the ranks that delivered rows."""
        return len(distinct(self.rank))

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
        if name not in self._whole:
            (self._whole[name],) = as_columns([self.stream.table([name])[name]])
        return self._whole[name].take(self.selection)

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

    def take(self, rows: Integers | Flags) -> StreamView:
        """Keep these rows, in this order."""
        return replace(
            self,
            record=self.record.take(rows),
            epoch=self.epoch[rows],
            rank=self.rank[rows],
            position=self.position[rows],
            compared={name: column.take(rows) for name, column in self.compared.items()},
            named={name: column.take(rows) for name, column in self.named.items()},
            selection=self.selection[rows],
        )

    def delivery_order(self) -> Integers:
        """Give the rows rank by rank, each in delivery order; shape (rows,), int64."""
        if self.ranks < 2 and bool((np.diff(self.position) > 0).all()):  # noqa: PLR2004
            return np.arange(self.rows)
        order: Integers = np.lexsort((self.position, self.rank))
        return order

    def by_epoch(self) -> Iterator[tuple[int, Integers]]:
        """Give the rows of each epoch, in canonical order."""
        yield from _groups(self.epoch)

    def by_rank(self) -> Iterator[tuple[int, Integers]]:
        """Give the rows of each rank, in delivery order."""
        for rank, rows in _groups(self.rank):
            yield rank, rows[np.argsort(self.position[rows], kind="stable")]


def _groups(labels: Integers) -> Iterator[tuple[int, Integers]]:
    order = np.argsort(labels, kind="stable")
    values, starts = np.unique(labels[order], return_index=True)
    yield from zip(values.tolist(), np.split(order, starts[1:]), strict=False)


def stored_columns(stream: Stream) -> list[str]:
    """Name the columns whose rows were kept."""
    return [name for name in stream.columns if is_stored(name, stream.level)]


def load_views(sources: Sequence[tuple[str, Stream]]) -> list[StreamView]:
    """Read the compared columns of streams; equal strings get equal codes in all of them.

    Args:
        sources: for each view the path of its run, and its stream.
    """
    tables = [stream.table(_wanted(stream)) for _, stream in sources]
    columns: list[dict[str, Column]] = [{} for _ in tables]
    names = dict.fromkeys(name for table in tables for name in table.column_names)
    for group in [RECORD_IDS, *([name] for name in names if name not in RECORD_IDS)]:
        holders = [
            (place, name)
            for place, table in enumerate(tables)
            for name in group
            if name in table.column_names
        ]
        loaded = as_columns([tables[place][name] for place, name in holders])
        for (place, name), column in zip(holders, loaded, strict=True):
            columns[place][name] = column
    return [
        _make_view(path, stream, own) for (path, stream), own in zip(sources, columns, strict=True)
    ]


def _wanted(stream: Stream) -> list[str]:
    """Name the columns that are read at once: the compared ones, and IDs that share codes."""
    types, stored = stream.columns, stored_columns(stream)
    others = [
        name
        for name in RECORD_IDS
        if name != "record" and name in stored and types[name] == types["record"] == "string"
    ]
    return [name for name in stored if is_compared(name)] + others


def _make_view(path: str, stream: Stream, columns: dict[str, Column]) -> StreamView:
    record = columns.pop("record")
    epoch = columns.pop("epoch", None)
    return StreamView(
        path=path,
        stream=stream,
        record=record,
        epoch=np.zeros(len(record), np.int64) if epoch is None else epoch.values,
        rank=columns.pop("rank").values,
        position=columns.pop("position").values,
        named={name: columns.pop(name) for name in RECORD_IDS if name in columns},
        compared=columns,
        selection=np.arange(len(record)),
    )
