"""Two namings of the same records, joined: one run is read under the names of the other."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import pyarrow as pa
from pyarrow import compute

from detloader.audits.stand_ins import retyped
from detloader.errors import LogError, UsageError
from detloader.manifest.digests import column_type
from detloader.manifest.reader import Run, Stream
from detloader.manifest.relative import RECORD_IDS
from detloader.manifest.schema import Level
from detloader.manifest.tables import read_column

if TYPE_CHECKING:
    from detloader.findings import RecordId, StreamResult
    from detloader.manifest.schema import ColumnType

__all__ = ["IdMap", "Names", "RenamedStream", "load_id_map", "read_named", "with_own_names"]


_BLANK = b"\xef\xbb\xbf \t\r\n"
"""A mark of UTF-8, and white space."""

Names: TypeAlias = "str | os.PathLike[str] | Mapping[str, RecordId] | Mapping[int, RecordId]"
"""From names in the baseline to those in the other runs; or a file of both."""


@dataclass(frozen=True)
class RenamedStream(Stream):
    """A stream whose record IDs are told under other names.

    Attributes:
        original: the stream as it was recorded.
        names: column `b`, as its IDs are; column `a`, what they are told as.
        note: what a reader of the answer has to know of the names; None where all is well.
    """

    original: Stream
    names: pa.Table
    note: str | None


class IdMap:
    """Which name in one run is which name in the other."""

    def __init__(self, names: pa.Table, where: str) -> None:
        """Take the names.

        Args:
            names: columns `a` and `b`, a row for each record: its name in the baseline, and in
                the other runs.
            where: what to call the map in messages.

        Raises:
            UsageError: a name is empty, or stands for two.
        """
        self._where = where
        if names["a"].null_count or names["b"].null_count:
            raise UsageError(f"{where} has a row without a name: give each record two")
        self._names = names.group_by(["a", "b"], use_threads=False).aggregate([])
        for one, other in (("a", "b"), ("b", "a")):
            counts = self._names[one].value_counts()
            twice = counts.filter(compute.greater(counts.field("counts"), pa.scalar(1)))
            if len(twice):
                name = twice[0]["values"].as_py()
                raise UsageError(
                    f"{where} gives {name!r} of column {one} two names of column {other}: "
                    "each record has one in each run"
                )

    def rename(self, a: Run, b: Run) -> dict[str, Stream]:
        """Return the streams of b under the names of a; those that only b has stay as they are.

        Raises:
            UsageError: the map does not fit these runs.
        """
        shared = [name for name in b.streams if name in a.streams]
        told = [stream for name in shared for stream in (a.streams[name], b.streams[name])]
        if any(stream.level is Level.DIGEST for stream in told):
            raise UsageError(
                f"{a.path} or {b.path} has level digest: its record IDs were not kept, and "
                f"{self._where} cannot be applied"
            )
        seen = {name: _distinct(b.streams[name]) for name in shared}
        seen = {name: ids for name, ids in seen.items() if len(ids)}
        names = {name: self._names_of(a, b, name) for name in seen}
        others = {name: _lacking(ids, names[name]["b"]) for name, ids in seen.items()}
        if all(len(others[name]) == len(ids) for name, ids in seen.items()) and seen:
            ids = next(iter(seen.values()))
            raise UsageError(
                f"{self._where} names no record of {b.path}, such as {ids[0].as_py()!r}: its "
                f"columns are names of {a.path}, then of {b.path}"
            )
        renamed = {
            name: self._renamed(b, b.streams[name], names[name], others[name]) for name in seen
        }
        return {**b.streams, **renamed}

    def _names_of(self, a: Run, b: Run, name: str) -> pa.Table:
        """Return the names as IDs of the types that a stream's have."""
        type_b = b.streams[name].columns["record"]
        by_default: ColumnType = "string" if pa.types.is_string(self._names["a"].type) else "int64"
        type_a = a.streams[name].columns.get("record", by_default)
        columns = [self._as_ids("a", type_a, a.path), self._as_ids("b", type_b, b.path)]
        return pa.table(columns, names=["a", "b"])

    def _renamed(
        self, b: Run, stream: Stream, names: pa.Table, others: pa.Array[Any]
    ) -> RenamedStream:
        note = None
        if len(others):
            self._refuse_unclear(names, others, b)
            note = self._note(others, b)
        type_ = column_type(names["a"].type)
        assert type_ is not None
        types = {column: type_ for column in RECORD_IDS if column in stream.columns}
        ranks = retyped(stream, types).ranks
        return RenamedStream(stream.name, ranks, original=stream, names=names, note=note)

    def _as_ids(self, column: str, type_: ColumnType, path: str) -> pa.ChunkedArray[Any]:
        """Return names of a column as IDs of the type that a run's have."""
        from detloader.importers.columns import as_integers

        names = self._names[column]
        is_text = pa.types.is_string(names.type)
        if type_ != "int64" and (is_text or pa.types.is_integer(names.type)):
            return names.cast(pa.string())
        numbers = as_integers(names, pa.int64()) if type_ == "int64" else None
        if numbers is None:
            raise UsageError(
                f"column {column} of {self._where} is no column of {type_}, as the record IDs "
                f"of {path} are"
            )
        return numbers

    def _note(self, others: pa.Array[Any], b: Run) -> str:
        one = len(others) == 1
        what, do = ("record ID", "is") if one else ("record IDs", "are")
        return (
            f"{len(others):,} {what} of {b.path} {do} not in {self._where}, such as "
            f"{others[0].as_py()!r}: read under the same name"
        )

    def _refuse_unclear(self, names: pa.Table, others: pa.Array[Any], b: Run) -> None:
        """Make sure that IDs without another name can keep their own."""
        targets = names["a"]
        if targets.type == pa.int64() != others.type:
            raise UsageError(
                f"record {others[0].as_py()!r} of {b.path} is not in {self._where}, and text "
                "cannot stand among numbers: name it there"
            )
        own = others.cast(targets.type)
        taken = own.filter(compute.is_in(own, value_set=targets.combine_chunks()))
        if len(taken):
            raise UsageError(
                f"record {taken[0].as_py()!r} of {b.path} is not in {self._where}, which gives "
                "its name to another: name it there"
            )


def load_id_map(source: Names) -> IdMap:
    """Read a map of names.

    Args:
        source: from names in the baseline to those in the other runs; or a file (CSV, JSON
            lines, Parquet) with them in the columns `a` and `b`, or in the first two.

    Raises:
        LogError: the file cannot be read, or is empty.
        UsageError: it is neither, has no two columns, or a name is empty, or stands for two.
    """
    if isinstance(source, str | os.PathLike):
        from detloader.importers import read_log

        _require_some(Path(source))
        table, _ = read_log(Path(source))
        return IdMap(_two_columns(table, source), str(source))
    if not isinstance(source, Mapping):
        raise UsageError(
            "id_map is a file or a mapping of names, such as {'cat/1.png': 17}, "
            f"not a {type(source).__name__}"
        )
    try:
        names = {"a": _as_names(source.keys()), "b": _as_names(source.values())}
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise UsageError(f"id_map has names of several types: {error}") from error
    return IdMap(pa.table(names), "id_map")


def read_named(stream: Stream, name: str, rows: range | None = None) -> pa.ChunkedArray[Any]:
    """Return a column as `read_column` does, record IDs under the names that they are told by."""
    if not isinstance(stream, RenamedStream) or name not in RECORD_IDS:
        return read_column(stream, name, rows)
    ids = read_column(stream.original, name, rows)
    names = stream.names
    told = names["a"].take(compute.index_in(ids, value_set=names["b"].combine_chunks()))
    if names["a"].type == pa.int64() != ids.type:
        return told
    whole: pa.ChunkedArray[Any] = compute.coalesce(told, ids.cast(names["a"].type))
    return whole


def with_own_names(result: StreamResult, path: str, stream: Stream) -> StreamResult:
    """Say what a reader has to know of the names, and give commands that the run understands."""
    if not isinstance(stream, RenamedStream):
        return result
    findings = [
        msgspec.structs.replace(each, confirm=_with_own_name(each.confirm, path, stream.names))
        for each in result.findings
    ]
    notes = [result.reason, stream.note]
    reason = "; ".join(filter(None, notes)) or None
    return msgspec.structs.replace(result, findings=findings, reason=reason)


def _with_own_name(
    command: str | msgspec.UnsetType | None, path: str, names: pa.Table
) -> str | msgspec.UnsetType | None:
    """Name the record of a command that is about the renamed run as that run does."""
    words = shlex.split(command) if command else []
    if path not in words or "--record" not in words:
        return command
    place = words.index("--record") + 1
    told = compute.index(names["a"].cast(pa.string()), words[place]).as_py()
    if told >= 0:
        words[place] = str(names["b"][told].as_py())
    return shlex.join(words)


def _distinct(stream: Stream) -> pa.Array[Any]:
    if "record" not in stream.columns:
        return pa.nulls(0)
    ids: Any = read_column(stream, "record")
    return ids.unique()  # type: ignore[no-any-return]


def _lacking(ids: pa.Array[Any], names: pa.ChunkedArray[Any]) -> pa.Array[Any]:
    known = compute.is_in(ids, value_set=names.combine_chunks())
    found: pa.Array[Any] = ids.filter(compute.invert(known))
    return found


def _require_some(path: Path) -> None:
    """Refuse what is no file, or an empty one, in the words of a map and not of a log."""
    if not path.is_file():
        raise LogError(f"{path} is no file: name the one with the names of records in both runs")
    with path.open("rb") as file:
        if not any(line.strip(_BLANK) for line in file):
            raise LogError(f"{path} is empty: a map of names has two columns, a and b")


def _two_columns(table: pa.Table, source: str | os.PathLike[str]) -> pa.Table:
    names = table.column_names
    chosen = ["a", "b"] if {"a", "b"} <= {*names} else names[:2]
    if len(chosen) < 2 or len({*chosen}) < 2:  # noqa: PLR2004 - one for each run
        raise UsageError(f"{source} has columns {', '.join(names)}: give it two, a and b")
    return table.select(chosen).rename_columns(["a", "b"])


def _as_names(names: Any) -> pa.Array[Any]:
    listed = list(names)
    return pa.array(listed, pa.string() if listed and isinstance(listed[0], str) else pa.int64())
