"""The rows of a run, read into Arrow tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from detloader.errors import DamageError, RunError, UsageError
from detloader.manifest.arrays import from_numpy, to_numpy
from detloader.manifest.digests import arrow_type, column_type
from detloader.manifest.journal import read_journal
from detloader.manifest.layout import JOURNAL
from detloader.manifest.parts import read_part
from detloader.manifest.schema import ColumnType, Level, is_stored

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from detloader.manifest.reader import Rank, Stream

__all__ = ["read_rank", "read_stream", "unsealed_columns", "unsealed_rows"]


def unsealed_rows(rank: Rank) -> pa.Table:
    """Return the rows of an open run that no sealed part holds; they may be none."""
    found = read_journal(rank.folder / JOURNAL)
    if found is None:
        return pa.table({})
    first_row, rows = found
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
    types = {field.name: column_type(field.type) for field in unsealed_rows(rank).schema}
    return {name: type_ for name, type_ in types.items() if type_ is not None}


def read_rank(rank: Rank, columns: Sequence[str] | None = None) -> pa.Table:
    """Return the rows of a rank in delivery order; see `Rank.table`."""
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
    schema = pa.schema([(name, arrow_type(types[name])) for name in wanted])
    tables = [read_part(rank.folder / file.path, file.rows, wanted) for file in header.files]
    try:
        if header.state == "open" and (rest := unsealed_rows(rank)).num_columns:
            tables.append(rest.select(wanted))
        none = pa.Table.from_batches([], schema)
        return pa.concat_tables([none, *(table.cast(schema) for table in tables)])
    except (pa.ArrowException, KeyError, ValueError) as error:
        message = f"{rank.folder} is damaged: its files do not hold the columns of its header"
        raise DamageError(message) from error


def read_stream(stream: Stream, columns: Sequence[str] | None = None) -> pa.Table:
    """Return the rows of all ranks in canonical order; see `Stream.table`."""
    names = [name for name in stream.columns if is_stored(name, stream.level)]
    keys = [name for name in ("epoch", "batch") if name in names]
    wanted = names if columns is None else list(columns)
    # A rank that never delivered a row has no columns either.
    ranks = [rank for rank in stream.ranks if rank.columns] or stream.ranks[:1]
    tables = [_placed(rank, [*dict.fromkeys([*wanted, *keys])]) for rank in ranks]
    rows = pa.concat_tables(tables)
    if len(tables) > 1:
        rows = rows.take(from_numpy(_canonical_order(rows, keys)))
    return rows.select([*wanted, "rank", "position"])


def _placed(rank: Rank, columns: list[str]) -> pa.Table:
    rows = read_rank(rank, columns)
    # Not `len(rows)`: a table without columns has none.
    count = len(rows) if columns else rank.rows
    number = from_numpy(np.full(count, rank.header.rank, np.int64))
    position = from_numpy(np.arange(count, dtype=np.int64))
    placed = {name: rows[name] for name in rows.column_names}
    return pa.table({**placed, "rank": number, "position": position})


def _canonical_order(rows: pa.Table, keys: Sequence[str]) -> NDArray[np.int64]:
    rank, position = _integers(rows, "rank"), _integers(rows, "position")
    epoch = _integers(rows, "epoch") if "epoch" in keys else np.zeros(len(rows), np.int64)
    if "batch" in keys:
        return np.lexsort((position, rank, _integers(rows, "batch"), epoch))
    return np.lexsort((rank, _place_in_epoch(epoch, rank), epoch))


def _place_in_epoch(epoch: NDArray[np.int64], rank: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the rows of each (rank, epoch) from 0, in the order in which they stand."""
    grouped = np.lexsort((epoch, rank))
    fresh = np.ones(len(grouped), bool)
    fresh[1:] = (np.diff(rank[grouped]) != 0) | (np.diff(epoch[grouped]) != 0)
    starts = np.flatnonzero(fresh)
    place = np.empty(len(grouped), np.int64)
    place[grouped] = np.arange(len(grouped)) - np.repeat(starts, np.diff([*starts, len(grouped)]))
    return place


def _integers(rows: pa.Table, name: str) -> NDArray[np.int64]:
    values, nulls = to_numpy(rows[name].combine_chunks())
    return values if nulls is None else np.where(nulls, -1, values)
