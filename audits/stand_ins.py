"""Streams with other headers, which stand in for recorded ones while these are compared."""

from __future__ import annotations

import functools
import hashlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from detloader.audits.headers import holds_nothing
from detloader.audits.measures.conditions import are_drawn_together
from detloader.manifest.reader import Rank
from detloader.manifest.schema import Level, is_stored

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from detloader.manifest.reader import Stream
    from detloader.manifest.schema import Column, ColumnType, Sampling

__all__ = ["are_digests", "retyped", "sampled", "without", "without_unlike"]

_DIGEST = re.compile("[0-9a-f]{16}|[0-9a-f]{64}")


@dataclass(frozen=True)
class _StandIn(Rank):
    """A rank some of whose columns are of another type, or are passed over.

    Attributes:
        types: by column; None for one that is passed over.
    """

    types: Mapping[str, ColumnType | None]

    @functools.cached_property
    def columns(self) -> Mapping[str, ColumnType]:
        """Columns in stored order."""
        told = Rank(self.header, self.folder).columns
        found = {name: self.types.get(name, type_) for name, type_ in told.items()}
        return {name: type_ for name, type_ in found.items() if type_ is not None}


def retyped(stream: Stream, types: Mapping[str, ColumnType]) -> Stream:
    """Give a stream that says that some columns have other values, of these types.

    Their digests are no longer those of any other column, but equal where they were.
    """
    return _with_types(stream, dict(types))


def sampled(stream: Stream, sampling: Sampling) -> Stream:
    """Give a stream that says that no other rows than these were to be recorded."""
    ranks = []
    for rank in stream.ranks:
        then = rank.header.sampling.then if rank.header.sampling else msgspec.UNSET
        kept = msgspec.structs.replace(sampling, then=then)
        header = msgspec.structs.replace(rank.header, sampling=kept)
        ranks.append(replace(rank, header=header))
    return replace(stream, ranks=tuple(ranks))


def without(stream: Stream, columns: Iterable[str]) -> Stream:
    """Give a stream that says nothing of some columns."""
    return _with_types(stream, dict.fromkeys(columns))


def without_unlike(a: Stream, b: Stream) -> Stream:
    """Give b, without the columns that were not made as those of a were.

    They are content that was digested otherwise; draws that were taken for whole batches, unless
    these are as large in both; draws and content where one run has them of its first epoch
    alone; where unlike parts of the runs were recorded, digests of rows that were not kept; and
    what has no value in any row of either.
    """
    unlike = {name for name in b.columns if holds_nothing(a, name) and holds_nothing(b, name)}
    if _drawn_together(a) != _drawn_together(b):  # nobody knows which record drew what
        unlike |= {name for name in b.columns if name.startswith("draws")}
    if a.roundings != b.roundings or len(a.roundings) > 1:
        unlike |= {"content"}
    if _then(a) != _then(b):
        unlike |= {name for name in b.columns if not is_stored(name, Level.ORDER)}
    level = min(a.level, b.level, key=list(Level).index)
    if a.samplings != b.samplings and level is not Level.DIGEST:
        unlike |= {name for name in b.columns if not is_stored(name, level)}
    return without(b, unlike) if unlike else b


def _drawn_together(stream: Stream) -> object:
    """Tell how many rows have draws that were taken at once; False where each has its own."""
    if "draws" not in stream.columns or stream.level is not Level.FULL:
        return False
    return are_drawn_together(stream) and stream.declared.batch_size


def _then(stream: Stream) -> set[object]:
    return {(sampling and sampling.then) or None for sampling in stream.samplings}


def are_digests(stream: Stream) -> bool:
    """Tell whether record IDs look like digests, which stand for IDs where a loader has none."""
    if stream.level is Level.DIGEST or stream.columns.get("record") != "string":
        return False
    first = next(rank for rank in stream.ranks if rank.columns)
    ids = first.table(["record"])["record"].slice(0, 1).to_pylist()
    return all(_DIGEST.fullmatch(str(name)) for name in ids)


def _with_types(stream: Stream, types: Mapping[str, ColumnType | None]) -> Stream:
    return replace(stream, ranks=tuple(_rank(rank, types) for rank in stream.ranks))


def _rank(rank: Rank, types: Mapping[str, ColumnType | None]) -> Rank:
    columns = [
        _column(column, types.get(column.name))
        for column in rank.header.columns
        if types.get(column.name, column.type) is not None
    ]
    header = msgspec.structs.replace(rank.header, columns=columns)
    before = rank.types if isinstance(rank, _StandIn) else {}
    return _StandIn(header, rank.folder, {**before, **types})


def _column(column: Column, type_: ColumnType | None) -> Column:
    if type_ is None:
        return column
    digest = hashlib.sha256(f"retyped {column.digest}".encode()).hexdigest()
    return msgspec.structs.replace(column, type=type_, blocks=[], digest=digest)
