"""Runs from the order logs of other systems.

A format is a module of this package with a `FORMAT`: the endings of its files
and how to read them. `columns` decides what each column is, for all formats alike.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from detloader.errors import LogError, RunError, RunExistsError
from detloader.importers.columns import type_columns
from detloader.importers.format import LogFormat
from detloader.importers.meta import read_meta
from detloader.importers.names import rename_columns
from detloader.manifest.schema import Declared, Environment
from detloader.manifest.writer import RankWriter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["formats", "import_log"]


def import_log(
    log: str | os.PathLike[str],
    run: str | os.PathLike[str],
    *,
    meta: str | os.PathLike[str] | None = None,
    columns: Mapping[str, str] | None = None,
) -> None:
    """Write a run from an order log: rows in delivery order, with at least `record`.

    Rows are shared out by their `rank` (0 where there is no such column). The
    run appears whole or not at all.

    Args:
        log: the log; its ending names the format.
        run: folder to write.
        meta: JSON file with what the run declared.
        columns: columns of the run whose name in the log is another, such as
            {"record": "sample_id"}.

    Raises:
        LogError: if the log or what it declares cannot be used.
        RunExistsError: if there is something in the way.
        RunError: if the run cannot be written.
    """
    target = Path(run)
    if target.exists() or target.is_symlink():
        raise RunExistsError(f"{target} exists: import into another folder, or remove it first")
    declared = Declared() if meta is None else read_meta(Path(meta))
    ranks = _ranks(_rows(Path(log), columns or {}))
    try:
        _write_whole(target, ranks, declared)
    except RunError:
        raise
    except OSError as error:
        what = os.strerror(error.errno) if error.errno else error
        raise RunError(f"{target} cannot be written: {what}; name another folder") from error


def formats() -> dict[str, LogFormat]:
    """Return the known formats by the endings of their files."""
    found = {}
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        log_format = getattr(importlib.import_module(module.name), "FORMAT", None)
        if isinstance(log_format, LogFormat):
            found.update(dict.fromkeys(log_format.suffixes, log_format))
    return found


def _rows(log: Path, columns: Mapping[str, str]) -> pa.Table:
    """Return the log's rows, with the names and types of a run."""
    if not log.is_file():
        raise LogError(f"{log} is no file: name the log to import")
    known = formats()
    log_format = known.get(log.suffix.lower())
    if log_format is None:
        endings = ", ".join(sorted(known))
        raise LogError(f"{log} is of no known format: the endings are {endings}")
    try:
        raw = log_format.read(log)
    except OSError as error:
        raise LogError(f"{log} cannot be read: {error.strerror or error}") from error
    named = rename_columns(log, raw, columns)
    try:
        return type_columns(named, log_format)
    except LogError as error:
        raise LogError(f"{log}: {error}") from error


def _ranks(rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """Yield the rows of each rank in delivery order; there is always at least one rank."""
    if "rank" not in rows.column_names:
        yield 0, rows
        return
    rank = rows.column("rank").to_numpy()
    rows = rows.drop_columns(["rank"])
    if not len(rank):
        yield 0, rows
        return
    order = np.argsort(rank, kind="stable")
    numbers, starts = np.unique(rank[order], return_index=True)
    for number, places in zip(numbers.tolist(), np.split(order, starts[1:]), strict=True):
        yield number, rows.take(places)


def _write_whole(target: Path, ranks: Iterator[tuple[int, pa.Table]], declared: Declared) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # Beside the target, so that renaming is one step within one file system.
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        _write(scratch / "run", ranks, declared)
        _put(scratch / "run", target)
    finally:
        shutil.rmtree(scratch)


def _write(run: Path, ranks: Iterator[tuple[int, pa.Table]], declared: Declared) -> None:
    listed = list(ranks)
    # What a log does not say of ranks is unknown; where it names them, it names all.
    count = len(listed) if len(listed) > 1 else None
    for rank, rows in listed:
        with RankWriter(
            run, rank=rank, ranks=count, declared=declared, environment=Environment()
        ) as writer:
            writer.append(rows)


def _put(written: Path, target: Path) -> None:
    try:
        written.rename(target)
    except OSError as error:
        if target.exists():
            raise RunExistsError(
                f"{target} appeared meanwhile: import into another folder"
            ) from error
        raise
