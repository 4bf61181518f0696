"""Runs from the order logs of other systems.

A format is a module of this package with a `FORMAT`: the endings of its files, or how
to recognise the logs of one program, and how to read them. `columns` decides what each
column is, for all formats alike.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
import pyarrow as pa
from pyarrow import compute

from detloader.errors import LogError, RunError, RunExistsError
from detloader.importers.columns import type_columns
from detloader.importers.format import CUT, RANKS, LogFormat
from detloader.importers.meta import read_meta
from detloader.importers.names import rename_columns
from detloader.manifest.keyed import IdHash
from detloader.manifest.layout import check_address, is_remote
from detloader.manifest.relative import IdRoot
from detloader.manifest.schema import Declared, Environment
from detloader.manifest.writer import RankWriter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["formats", "import_log", "read_log"]

T = TypeVar("T")


def import_log(
    log: str | os.PathLike[str],
    run: str | os.PathLike[str],
    *,
    meta: str | os.PathLike[str] | None = None,
    columns: Mapping[str, str] | None = None,
    id_root: str | os.PathLike[str] | None = None,
    id_hash: str | os.PathLike[str] | None = None,
) -> list[str]:
    """Write a run from an order log: rows in delivery order, with at least `record`.

    Rows are shared out by their `stream` ("main" where there is no such column) and their
    `rank` (0). The run appears whole or not at all. Where a program was killed while it wrote
    its log, what is whole is imported, and the run declares that it is not complete.

    Args:
        log: the log; its ending names the format. A folder where a program wrote several.
        run: folder to write.
        meta: JSON file with what the run declared.
        columns: columns of the run whose name in the log is another, such as
            {"record": "sample_id"}.
        id_root: folder of the data on the machine that wrote the log: record IDs that are
            paths below it are kept relative to it.
        id_hash: file with a key: keyed digests of IDs are kept in their place.

    Returns:
        A line for each file of the log that is cut off: which one, and after what.

    Raises:
        LogError: if the log or what it declares cannot be used, or no ID lies below the root.
        UsageError: if `run` or `id_root` is no folder's name, or `id_hash` no file with a key.
        RunExistsError: if there is something in the way.
        RunError: if the run cannot be written.
    """
    check_address(run)
    if is_remote(log):
        raise LogError(f"{os.fspath(log)} is in a remote store: copy the log here first")
    target = Path(run)
    if not is_remote(run) and (target.exists() or target.is_symlink()):
        raise RunExistsError(f"{target} exists: import into another folder, or remove it first")
    root = None if id_root is None else IdRoot(id_root)
    key = None if id_hash is None else IdHash.of(id_hash)
    declared = Declared() if meta is None else read_meta(Path(meta))
    raw, log_format = read_log(Path(log))
    told = raw.schema.metadata or {}
    cut = told.get(CUT, b"").decode().splitlines()
    if cut:
        declared = msgspec.structs.replace(declared, complete=False)
    rows = _rows(Path(log), raw, log_format, columns or {})
    if root is not None and len(rows) and root.apply(rows) == rows:
        raise LogError(f"{log} has no record ID below {root}: check the folder's name")
    try:
        _write_whole(run, _parts(rows, int(told.get(RANKS, 0))), declared, root, key)
    except RunError:
        raise
    except OSError as error:
        what = os.strerror(error.errno) if error.errno else error
        raise RunError(f"{run} cannot be written: {what}; name another folder") from error
    return cut


def formats() -> list[LogFormat]:
    """Return the known formats; those that recognise the logs of one program come first."""
    modules = pkgutil.iter_modules(__path__, f"{__name__}.")
    found = [getattr(importlib.import_module(module.name), "FORMAT", None) for module in modules]
    known = [log_format for log_format in found if isinstance(log_format, LogFormat)]
    return sorted(known, key=lambda log_format: log_format.recognises is None)


def _find_format(log: Path) -> LogFormat:
    for log_format in formats():
        if log_format.recognises is None:
            if log.is_file() and log.name.lower().endswith(log_format.suffixes):
                return log_format
        elif log_format.recognises(log):
            return log_format
    if log.is_dir():
        what = " or ".join(map(str, _folders_of_logs(log)[:2])) or "the file to import"
        raise LogError(f"{log} is a folder of no known logs: name {what}")
    endings = ", ".join(sorted({end for known in formats() for end in known.suffixes}))
    raise LogError(f"{log} is of no known format: the endings are {endings}")


def _folders_of_logs(folder: Path) -> list[Path]:
    """Return the folders right below, such as one for each node, in which a program wrote logs."""
    known = [each.recognises for each in formats() if each.recognises is not None]
    below = sorted(inner for inner in folder.iterdir() if inner.is_dir())
    return [inner for inner in below if any(recognises(inner) for recognises in known)]


def read_log(log: Path) -> tuple[pa.Table, LogFormat]:
    """Return the columns of a log as its format's reader gives them, and that format.

    Raises:
        LogError: if there is no such file, or it cannot be read.
    """
    if not log.exists():
        raise LogError(f"{log} is no file: name the log to import")
    try:
        log_format = _find_format(log)
        return log_format.read(log), log_format
    except OSError as error:
        reason = error.strerror or " ".join(str(error).split())
        raise LogError(f"{log} cannot be read: {reason}") from error


def _rows(log: Path, raw: pa.Table, log_format: LogFormat, columns: Mapping[str, str]) -> pa.Table:
    """Return the log's rows, with the names and types of a run."""
    named = rename_columns(log, raw, columns)
    try:
        return type_columns(named, log_format)
    except LogError as error:
        raise LogError(f"{log}: {error}") from error


@dataclass(frozen=True, slots=True)
class _Part:
    """The rows of one rank of one stream, of which there are so many."""

    stream: str
    rank: int
    ranks: int | None
    rows: pa.Table


def _parts(rows: pa.Table, told: int) -> list[_Part]:
    """Share the rows out, in delivery order; there is always at least one rank.

    Args:
        rows: of all streams.
        told: how many ranks the names of files tell; 0 where they do not.
    """
    parts = []
    for stream, its_rows in _groups(rows, "stream", "main"):
        ranks = _groups(its_rows, "rank", 0)
        # A log that names one rank may be that of this rank alone; ranks count from 0.
        named = ranks[-1][0] + 1 if len(ranks) > 1 else 0
        count = max(named, told) or None
        parts += [_Part(stream, rank, count, rank_rows) for rank, rank_rows in ranks]
    return parts


def _groups(rows: pa.Table, column: str, default: T) -> list[tuple[T, pa.Table]]:
    """Return the rows by the values of a column, without that column."""
    if column not in rows.column_names:
        return [(default, rows)]
    values = rows.column(column)
    rows = rows.drop_columns([column])
    if not len(values):
        return [(default, rows)]
    return [
        (value.as_py(), rows.filter(compute.equal(values, value)))
        for value in sorted(values.unique(), key=lambda value: value.as_py())
    ]


def _write_whole(
    run: str | os.PathLike[str],
    parts: Iterable[_Part],
    declared: Declared,
    root: IdRoot | None,
    key: IdHash | None,
) -> None:
    scratch = Path(tempfile.mkdtemp()) if is_remote(run) else _beside(Path(run))
    try:
        for part in parts:
            _write(scratch / "run", part, declared, root, key)
        if is_remote(run):
            from detloader.manifest.remote import upload

            upload(scratch / "run", os.fspath(run))
        else:
            _put(scratch / "run", Path(run))
    finally:
        shutil.rmtree(scratch)


def _beside(target: Path) -> Path:
    """Make a folder from which renaming is one step within one file system."""
    target.parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))


def _write(
    run: Path, part: _Part, declared: Declared, root: IdRoot | None, key: IdHash | None
) -> None:
    with RankWriter(
        run,
        stream=part.stream,
        rank=part.rank,
        ranks=part.ranks,
        declared=declared,
        environment=Environment(),
        id_root=root,
        id_hash=key,
    ) as writer:
        writer.append(part.rows)


def _put(written: Path, target: Path) -> None:
    try:
        written.rename(target)
    except OSError as error:
        if target.exists():
            raise RunExistsError(
                f"{target} appeared meanwhile: import into another folder"
            ) from error
        raise
