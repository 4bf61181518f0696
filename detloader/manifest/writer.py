"""One rank of a run, being recorded.

Rows go to the journal at once. When a part's worth has come together they are digested,
written as a sealed part, listed in the header, and a new journal is begun: in that
order, so that a process may die between any two steps and no row is lost or doubled.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Self

import filelock
import msgspec
import pyarrow as pa

from detloader.errors import RunExistsError, UsageError
from detloader.manifest.canonical import encode_header
from detloader.manifest.digests import block_digests, column_type
from detloader.manifest.fingerprints import fingerprint, make_column
from detloader.manifest.journal import Journal
from detloader.manifest.layout import (
    HEADER,
    JOURNAL,
    LOCK,
    ORDER,
    part_path,
    rank_folder,
    write_atomically,
)
from detloader.manifest.parts import part_bytes
from detloader.manifest.run_id import choose_run_id
from detloader.manifest.schema import (
    BLOCK_ROWS,
    ColumnType,
    Declared,
    Environment,
    FileEntry,
    Header,
    Level,
    Recipe,
    Seen,
    allowed_types,
    is_stored,
)

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["PART_ROWS", "RankWriter"]

PART_ROWS = 16 * BLOCK_ROWS
"""Rows of a sealed part; the last one of a rank has what is left."""


class RankWriter:
    """Writes the folder of one rank, `RUN/<stream>/rank-00000`.

    Use it as a context manager: leaving the block seals the run, an error discards it.

    Attributes:
        rows: rows appended so far.
    """

    def __init__(
        self,
        run: str | os.PathLike[str],
        *,
        stream: str = "main",
        rank: int = 0,
        level: Level = Level.FULL,
        declared: Declared,
        environment: Environment,
        recipe: Recipe | None = None,
        run_id: str | None = None,
    ) -> None:
        """Create the folder and an open manifest in it.

        Raises:
            RunExistsError: that rank of that stream is recorded, or being recorded.
            UsageError: the stream's name or the rank cannot be used.
        """
        self.rows = 0
        self._folder = rank_folder(run, stream, rank)
        if (self._folder / HEADER).exists():
            message = f"{run} holds a run already: choose another folder, or remove it first"
            raise RunExistsError(message)
        self._header = Header(
            run_id=run_id or choose_run_id(Path(run)),
            stream=stream,
            rank=rank,
            level=level,
            state="open",
            recipe=recipe,
            declared=declared,
            environment=environment,
            seen=Seen(),
        )
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock = filelock.FileLock(self._folder / LOCK)
        try:
            self._lock.acquire(blocking=False)
        except filelock.Timeout as error:
            message = f"{run} is being recorded by another process: choose another folder"
            raise RunExistsError(message) from error
        self._journal: Journal | None = None
        self._types: dict[str, ColumnType] = {}
        self._blocks: dict[str, list[str]] = {}
        self._epochs: set[int | None] = set()
        self._pending: list[pa.Table] = []
        self._sealed_rows = 0
        self._files: list[FileEntry] = []
        self._write_header(self._header)

    def append(self, rows: pa.Table) -> None:
        """Add rows in delivery order; the first call fixes the columns.

        Raises:
            UsageError: a column has a type that a manifest does not hold, or the
                columns differ from those of the first call.
        """
        types = _column_types(rows.schema)
        if self._journal is None:
            self._types = types
            self._blocks = {name: [] for name in types}
            self._journal = Journal(self._folder / JOURNAL, rows.schema.remove_metadata(), 0)
        if types != self._types:
            message = f"the columns changed from {self._types} to {types}"
            raise UsageError(message)
        rows = rows.select(list(types)).replace_schema_metadata()
        self._journal.append(rows)
        if "epoch" in self._blocks:
            self._epochs.update(rows["epoch"].unique().to_pylist())
        self._pending.append(rows)
        self.rows += len(rows)
        while self.rows - self._sealed_rows >= PART_ROWS:
            self._seal_part(PART_ROWS)

    def close(self, *, seeds: list[int] | None = None, lost: int = 0) -> None:
        """Seal the run: digest what is left, list every file, say `complete`."""
        if self.rows > self._sealed_rows:
            self._seal_part(self.rows - self._sealed_rows)
        header = self._sealed_header(seeds or [], lost)
        self._write_header(
            msgspec.structs.replace(header, state="complete", fingerprint=fingerprint([header]))
        )
        self._release()

    def discard(self) -> None:
        """Remove all that was written, and folders that are empty then."""
        self._release()
        shutil.rmtree(self._folder)
        for folder in (self._folder.parent, self._folder.parent.parent):
            if any(folder.iterdir()):
                return
            folder.rmdir()

    def __str__(self) -> str:
        return str(self._folder)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Seal the run, or discard it after an error."""
        if kind is None:
            self.close()
        else:
            self.discard()

    def _seal_part(self, count: int) -> None:
        pending = pa.concat_tables(self._pending)
        rows, rest = pending.slice(0, count), pending.slice(count)
        for name, blocks in self._blocks.items():
            blocks.extend(block_digests(rows[name]))
        stored = [name for name in rows.schema.names if is_stored(name, self._header.level)]
        if stored:
            self._write_part(rows.select(stored))
        self._sealed_rows += count
        self._pending = [rest] if len(rest) else []
        self._write_header(self._sealed_header([], 0))
        self._begin_journal(rest)

    def _write_part(self, rows: pa.Table) -> None:
        path = part_path(len(self._files))
        data = part_bytes(rows)
        (self._folder / ORDER).mkdir(exist_ok=True)
        write_atomically(self._folder / path, data)
        digest = hashlib.sha256(data).hexdigest()
        self._files.append(FileEntry(path=path, size=len(data), rows=len(rows), sha256=digest))

    def _begin_journal(self, rest: pa.Table) -> None:
        if self._journal is not None:
            self._journal.close()
        self._journal = Journal(self._folder / JOURNAL, rest.schema, self._sealed_rows)
        self._journal.append(rest)

    def _sealed_header(self, seeds: list[int], lost: int) -> Header:
        columns = [
            make_column(name, self._types[name], list(blocks))
            for name, blocks in self._blocks.items()
        ]
        seen = Seen(rows=self._sealed_rows, epochs=len(self._epochs), seeds=seeds, lost=lost)
        return msgspec.structs.replace(
            self._header, columns=columns, files=list(self._files), seen=seen
        )

    def _write_header(self, header: Header) -> None:
        write_atomically(self._folder / HEADER, encode_header(header))

    def _release(self) -> None:
        if self._journal is not None:
            self._journal.close()
            (self._folder / JOURNAL).unlink(missing_ok=True)
        self._lock.release()
        (self._folder / LOCK).unlink(missing_ok=True)


def _column_types(schema: pa.Schema) -> dict[str, ColumnType]:
    types: dict[str, ColumnType] = {}
    for field in schema:
        type_ = column_type(field.type)
        allowed = allowed_types(field.name)
        if type_ is None or type_ not in allowed:
            message = f"column {field.name!r} is {field.type}, not {' or '.join(allowed)}"
            raise UsageError(message)
        types[field.name] = type_
    return types
