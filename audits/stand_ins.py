"""Streams with other headers, which stand in for recorded ones while these are compared."""

from __future__ import annotations

import functools
import hashlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from detloader.manifest.reader import Rank
from detloader.manifest.schema import Level

if TYPE_CHECKING:
    from collections.abc import Mapping

    from detloader.manifest.reader import Stream
    from detloader.manifest.schema import Column, ColumnType

__all__ = ["are_digests", "retyped", "without_unlike_content"]

_DIGEST = re.compile("[0-9a-f]{16}")


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


def without_unlike_content(a: Stream, b: Stream) -> Stream:
    """Give b, without its content where that was rounded otherwise than the content of a."""
    if a.roundings == b.roundings and len(a.roundings) == 1:
        return b
    return _with_types(b, {"content": None})


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
