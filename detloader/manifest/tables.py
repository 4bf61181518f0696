"""The rows of a run, read into Arrow tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from detloader.errors import DamageError, RunError, UsageError
from detloader.manifest.arrays import from_numpy, numpy_type, to_numpy
from detloader.manifest.digests import arrow_type, column_type
from detloader.manifest.parts import read_part
from detloader.manifest.schema import ColumnType, Level, is_stored

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from detloader.manifest.reader import Rank, Stream
    from detloader.manifest.schema import FileEntry, Header

__all__ = [
    "Placement",
    "count_in_groups",
    "read_column",
    "read_numbers",
    "read_placement",
    "read_rank",
    "read_stream",
    "unsealed_columns",
    "unsealed_rows",
]


def unsealed_rows(rank: Rank) -> pa.Table:
    """Return the rows of an open run that no sealed part holds; they may be none."""
    found = rank.folder.journal
    if found is None:
        return pa.table({})
    first_row, rows, _ = found
    sealed = rank.header.seen.rows
    if first_row > sealed:
        message = (
            f"{rank.folder} lacks rows {sealed} to {first_row - 1}: "
            "open it again if it is still being recorded, else restore it from a copy"
        )
        raise DamageError(message)
    return rows.slice(sealed - first_row)


def unsealed_columns(rank: Rank) -> dict[str, ColumnType]:
    """Return names and types of the columns in the journal of an open run."""
    types = {field.name: column_type(field.type) for field in rank.unsealed.schema}
    return {name: type_ for name, type_ in types.items() if type_ is not None}


def read_rank(
    rank: Rank, columns: Sequence[str] | None = None, rows: range | None = None
) -> pa.Table:
    """Return rows of a sealed rank, or all rows of any, in delivery order; see `Rank.table`."""
    header = rank.header
    if header.level is Level.DIGEST:
        message = f"{rank.folder} was recorded at level digest: its rows were not kept"
        raise RunError(message)
    types = {column.name: column.type for column in header.columns}
    if header.state == "open":
        types |= unsealed_columns(rank)
    wanted = [
        name
        for name in types
        if is_stored(name, header.level) and (columns is None or name in columns)
    ]
    if unknown := set(columns or ()) - set(wanted):
        message = f"{rank.folder} has no column {min(unknown)!r}: it has {', '.join(types)}"
        raise UsageError(message)
    none = pa.Table.from_batches(
        [], pa.schema([(name, arrow_type(types[name])) for name in wanted])
    )
    return pa.concat_tables([none, *_parts(rank, none.schema, rows)])


def _parts(rank: Rank, schema: pa.Schema, rows: range | None) -> Iterator[pa.Table]:
    """Yield the rows part by part, those of an open run's journal at the end."""
    header, wanted = rank.header, schema.names
    try:
        for file, some in _rows_of_files(header, rows):
            yield read_part(rank.folder, file, wanted, some).cast(schema)
        if header.state == "open" and (rest := rank.unsealed).num_columns:
            yield rest.select(wanted).cast(schema)
    except (pa.ArrowException, KeyError, ValueError) as error:
        message = f"{rank.folder} is damaged: its files do not hold the columns of its header"
        raise DamageError(message) from error


def _rows_of_files(header: Header, rows: range | None) -> Iterator[tuple[FileEntry, range | None]]:
    """Yield the files that hold these rows, and which rows of each they are."""
    start = 0
    for file in header.files:
        some = rows and range(max(rows.start - start, 0), min(rows.stop - start, file.rows))
        if rows is None or some:
            yield file, some
        start += file.rows


def read_stream(stream: Stream, columns: Sequence[str] | None = None) -> pa.Table:
    """Return the rows of all ranks in canonical order; see `Stream.table`."""
    wanted = _stored(stream) if columns is None else list(columns)
    placement = read_placement(stream)
    rank, position = from_numpy(placement.rank), from_numpy(placement.position())
    rows = pa.concat_tables([rank.table(wanted) for rank in _filled(stream)])
    if placement.order is not None:
        rows = rows.take(from_numpy(placement.order))
    placed = {name: rows[name] for name in wanted}
    return pa.table({**placed, "rank": rank, "position": position})


def read_column(stream: Stream, name: str, rows: range | None = None) -> pa.ChunkedArray[Any]:
    """Return one column of all ranks, rank after rank, each in delivery order.

    Args:
        stream: a stream that kept its rows.
        name: a column that it has.
        rows: which rows of a stream of one sealed rank; None for all, of any stream.
    """
    return pa.concat_tables([read_rank(rank, [name], rows) for rank in _filled(stream)])[name]


def read_numbers(
    stream: Stream, name: str, rows: range | None = None
) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return a column of numbers as `read_column` does, as values and nulls of `to_numpy`.

    Part by part: a column of many rows is never in memory twice.
    """
    schema = pa.schema([(name, arrow_type(stream.columns[name]))])
    ranks = _filled(stream)
    count = sum(rank.rows for rank in ranks)
    count = count if rows is None else len(range(count)[rows.start : rows.stop])
    values = np.empty(count, numpy_type(schema.field(name).type))
    absent, start = None, 0
    parts = (part for rank in ranks for part in _parts(rank, schema, rows))
    for chunk in (chunk for part in parts for chunk in part[name].chunks):
        found, nulls = to_numpy(chunk)
        some = slice(start, start + len(found))
        values[some] = found
        if nulls is not None:
            absent = np.zeros(count, np.bool_) if absent is None else absent
            absent[some] = nulls
        start = some.stop
    return values, absent


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Where the rows of a stream stand, in canonical order.

    Attributes:
        rank: int64, shape (rows,).
        order: int64, shape (rows,); where each row stands in `read_column`. None where
            the one rank with rows keeps its order.
        starts: for each rank with rows, by its number, where its rows begin in `read_column`.
    """

    rank: NDArray[np.int64]
    order: NDArray[np.int64] | None
    starts: Mapping[int, int]

    def position(self) -> NDArray[np.int64]:
        """Return the place of each row in its rank, in delivery order; int64, shape (rows,)."""
        if self.order is None:
            return np.arange(len(self.rank))
        numbers = np.array(list(self.starts))
        begins = np.array(list(self.starts.values()))
        position: NDArray[np.int64] = self.order - begins[np.searchsorted(numbers, self.rank)]
        return position


def read_placement(stream: Stream, rows: range | None = None) -> Placement:
    """Return the canonical order of a stream's rows; of one rank alone, nothing is read."""
    ranks = _filled(stream)
    if len(ranks) == 1:
        count = len(range(ranks[0].rows)[rows.start : rows.stop]) if rows else ranks[0].rows
        only = ranks[0].header.rank
        return Placement(np.broadcast_to(np.int64(only), count), None, {only: 0})
    counts = [rank.rows for rank in ranks]
    numbers = [rank.header.rank for rank in ranks]
    starts = dict(zip(numbers, accumulate(counts, initial=0), strict=False))
    number = np.repeat(numbers, counts)
    position = np.concatenate([np.arange(count) for count in counts])
    keys: dict[str, NDArray[np.int64]] = {
        name: _integers(read_column(stream, name))
        for name in ("epoch", "batch")
        if name in _stored(stream)
    }
    order = _canonical_order(number, position, keys)
    return Placement(number[order], order, starts)


def _stored(stream: Stream) -> list[str]:
    return [name for name in stream.columns if is_stored(name, stream.level)]


def _filled(stream: Stream) -> list[Rank]:
    # A rank that never delivered a row has no columns either.
    return [rank for rank in stream.ranks if rank.columns] or [stream.ranks[0]]


def _canonical_order(
    rank: NDArray[np.int64], position: NDArray[np.int64], keys: Mapping[str, NDArray[np.int64]]
) -> NDArray[np.int64]:
    epoch = keys.get("epoch", np.zeros(len(rank), np.int64))
    if "batch" in keys:
        return np.lexsort((position, rank, keys["batch"], epoch))
    # Each rank's rows stand in delivery order, which a stable sort keeps.
    place = count_in_groups(np.lexsort((epoch, rank)), epoch, rank)
    return np.lexsort((rank, place, epoch))


def count_in_groups(order: NDArray[np.int64], *keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the rows of each group from 0, along an order in which groups stand together.

    Args:
        order: int64, shape (rows,): the rows, group by group.
        keys: int64, each of shape (rows,): a group is the rows that agree in all of them.

    Returns:
        int64, shape (rows,): each row's place in its group.
    """
    fresh = np.ones(len(order), bool)
    fresh[1:] = np.logical_or.reduce([np.diff(key[order]) != 0 for key in keys])
    start = np.maximum.accumulate(np.where(fresh, np.arange(len(order)), 0))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - start
    return place


def _integers(column: pa.ChunkedArray[Any]) -> NDArray[np.int64]:
    values, nulls = to_numpy(column.combine_chunks())
    return values if nulls is None else np.where(nulls, -1, values)
