"""One rank of a run, being recorded.

Rows go to the journal at once. When a part's worth has come together they are digested,
written as a sealed part, listed in the header, and a new journal is begun: in that
order, so that a process may die between any two steps, or a step may fail, and no row is
lost or doubled.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Self

import msgspec
import pyarrow as pa

from detloader.errors import UsageError
from detloader.manifest.canonical import encode_header
from detloader.manifest.claim import Claim
from detloader.manifest.digests import arrow_type, block_digests, column_type
from detloader.manifest.fingerprints import fingerprint, make_column
from detloader.manifest.journal import Journal
from detloader.manifest.layout import (
    HEADER,
    JOURNAL,
    ORDER,
    part_path,
    rank_folder,
    write_atomically,
)
from detloader.manifest.parts import part_bytes
from detloader.manifest.run_id import choose_run_id
from detloader.manifest.schema import (
    BLOCK_ROWS,
    RESERVED,
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

    from detloader.manifest.relative import IdRoot
    from detloader.manifest.rounding import Rounding

__all__ = ["PART_ROWS", "RankWriter"]

PART_ROWS = 4 * BLOCK_ROWS
"""Rows of a sealed part; the last one of a rank has what is left.

Sealing so many takes a fraction of a second, for which what is delivered waits in memory."""


class RankWriter:
    """Writes the folder of one rank, `RUN/<stream>/rank-00000`.

    Use it as a context manager: leaving the block seals the run, an error discards it.

    Attributes:
        folder: the rank's folder.
        rows: rows appended so far; after an error, those that were taken.
        id_root: folder that record IDs are told relative to.
        below_root: whether an ID lay below it.
    """

    def __init__(
        self,
        run: str | os.PathLike[str],
        *,
        stream: str = "main",
        rank: int = 0,
        ranks: int | None = None,
        level: Level = Level.FULL,
        declared: Declared,
        environment: Environment,
        recipe: Recipe | None = None,
        run_id: str | None = None,
        id_root: IdRoot | None = None,
        rounding: Rounding | None = None,
    ) -> None:
        """Create the folder and an open manifest in it, or leave all as it was.

        Args:
            run: folder of the run.
            stream: name of the loader.
            rank: which of the data-parallel processes this is.
            ranks: how many there are; None where nobody says.
            level: how much of each row is kept.
            declared: what the run is meant to be.
            environment: what it runs on.
            recipe: how the loader was made.
            run_id: what all ranks have in common; by default as the environment says.
            id_root: folder that record IDs are told relative to; None leaves them.
            rounding: what whoever digests content has done to floats before.

        Raises:
            RunExistsError: that rank of that stream is recorded, or being recorded, or
                the folder belongs to a run with another ID.
            RunError: the folder cannot be written.
            UsageError: the stream's name or the rank cannot be used, or what was declared
                cannot be written as JSON.
        """
        self.rows = 0
        # The program may change its folder while it is recorded.
        self.folder = rank_folder(Path(run).absolute(), stream, rank)
        self._header = Header(
            run_id=run_id or "",
            stream=stream,
            rank=rank,
            ranks=ranks,
            level=level,
            state="open",
            recipe=recipe,
            relative_ids=msgspec.UNSET if id_root is None else True,
            rounding=msgspec.UNSET if rounding is None else rounding.name,
            declared=declared,
            environment=environment,
            seen=Seen(),
        )
        self.id_root = id_root
        self.below_root = False
        self._claim = Claim(self.folder)
        self._journal: Journal | None = None
        self._types: dict[str, ColumnType] = {}
        self._blocks: dict[str, list[str]] = {}
        self._epochs: set[int | None] = set()
        self._pending: list[pa.Table] = []
        self._sealed_rows = 0
        self._files: list[FileEntry] = []
        self._closed = False
        self._begin(run_id)

    def append(self, rows: pa.Table) -> None:
        """Add rows in delivery order; the first call fixes the columns.

        Raises:
            UsageError: a column has a type that a manifest does not hold, the columns
                differ from those of the first call, or the run is sealed.
        """
        if self._closed:
            message = f"{self.folder} is sealed: record into another folder"
            raise UsageError(message)
        types = _column_types(rows.schema)
        if self._journal is None:
            self._types = types
            self._blocks = {name: [] for name in types}
            self._begin_journal()
        if types != self._types:
            message = f"the columns changed from {self._types} to {types}"
            raise UsageError(message)
        rows = rows.select(list(self._types)).cast(self._arrow_schema())
        if self.id_root is not None:
            as_told, rows = rows, self.id_root.apply(rows)
            self.below_root |= rows != as_told
        while len(rows):
            if self.rows - self._sealed_rows == PART_ROWS:
                self._seal_part()
                self._begin_journal()
            room = PART_ROWS - (self.rows - self._sealed_rows)
            self._take(rows.slice(0, room))
            rows = rows.slice(room)

    def close(self, *, seeds: Iterable[int] = (), lost: int = 0, broken_off: bool = False) -> None:
        """Seal the run: digest what is left, list every file, say `complete`.

        Args:
            seeds: seeds that the loader used, in order of first use.
            lost: rows that could not be recorded.
            broken_off: whether the loader failed or was interrupted: the run is then
                declared to be a part of what it was meant to be.
        """
        if self._closed:
            return
        if self.rows > self._sealed_rows:
            self._seal_part()
        header = self._sealed_header(list(seeds), lost)
        if broken_off:
            declared = msgspec.structs.replace(header.declared, complete=False)
            header = msgspec.structs.replace(header, declared=declared)
        # Now every row is in a part that the open header lists. The header that says
        # `complete` comes last: a process that dies before it leaves an open run.
        self._closed = True
        self._close_journal()
        self._claim.release()
        self._write_header(
            msgspec.structs.replace(header, state="complete", fingerprint=fingerprint([header]))
        )

    def discard(self) -> None:
        """Remove all that was written, and the folders that were made for it."""
        self._closed = True
        self._close_journal()
        self._claim.remove()

    def __str__(self) -> str:
        return str(self.folder)

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

    def _begin(self, run_id: str | None) -> None:
        _check_json(self._header)
        with self._claim.beginning():
            run_id = choose_run_id(self.folder.parents[1], run_id)
            self._header = msgspec.structs.replace(self._header, run_id=run_id)
            self._write_header(self._header)

    def _take(self, rows: pa.Table) -> None:
        assert self._journal is not None
        self._journal.append(rows)
        self._pending.append(rows)
        self.rows += len(rows)
        if "epoch" in self._types:
            self._epochs.update(rows["epoch"].unique().to_pylist())

    def _seal_part(self) -> None:
        """Write the pending rows as a part; where that fails, they stay pending."""
        rows = pa.concat_tables(self._pending)
        digests = {name: list(block_digests(rows[name])) for name in self._types}
        stored = [name for name in self._types if is_stored(name, self._header.level)]
        if stored:
            self._files.append(self._write_part(rows.select(stored)))
        for name, blocks in self._blocks.items():
            blocks.extend(digests[name])
        self._sealed_rows += len(rows)
        self._pending = []
        self._write_header(self._sealed_header([], 0))

    def _write_part(self, rows: pa.Table) -> FileEntry:
        path = part_path(len(self._files))
        data = part_bytes(rows)
        (self.folder / ORDER).mkdir(exist_ok=True)
        write_atomically(self.folder / path, data)
        digest = hashlib.sha256(data).hexdigest()
        return FileEntry(path=path, size=len(data), rows=len(rows), sha256=digest)

    def _arrow_schema(self) -> pa.Schema:
        return pa.schema([(name, arrow_type(type_)) for name, type_ in self._types.items()])

    def _begin_journal(self) -> None:
        previous = self._journal
        path = self.folder / JOURNAL
        self._journal = Journal(path, self._arrow_schema(), self._sealed_rows)
        if previous is not None:
            previous.close()

    def _sealed_header(self, seeds: list[int], lost: int) -> Header:
        columns = [
            make_column(name, self._types[name], list(blocks))
            for name, blocks in self._blocks.items()
        ]
        # Without such a column all rows are of epoch 0.
        epochs = len(self._epochs) if "epoch" in self._types else int(self._sealed_rows > 0)
        seen = Seen(rows=self._sealed_rows, epochs=epochs, seeds=seeds, lost=lost)
        return msgspec.structs.replace(
            self._header, columns=columns, files=list(self._files), seen=seen
        )

    def _write_header(self, header: Header) -> None:
        write_atomically(self.folder / HEADER, encode_header(header))

    def _close_journal(self) -> None:
        if self._journal is not None:
            self._journal.close()
            (self.folder / JOURNAL).unlink(missing_ok=True)


def _check_json(header: Header) -> None:
    try:
        encode_header(header)
    except (TypeError, ValueError, RecursionError) as error:
        message = f"what was declared cannot be written as JSON: {error}"
        raise UsageError(message) from error


def _column_types(schema: pa.Schema) -> dict[str, ColumnType]:
    types: dict[str, ColumnType] = {}
    for field in schema:
        type_ = column_type(field.type)
        allowed = allowed_types(field.name)
        if type_ is None or type_ not in allowed:
            message = f"column {field.name!r} is {field.type}, not {' or '.join(allowed)}"
            raise UsageError(message)
        types[field.name] = type_
    if len(types) < len(schema.names):
        message = f"two columns have one name: {', '.join(schema.names)}"
        raise UsageError(message)
    if reserved := RESERVED & types.keys():
        message = f"column {min(reserved)!r} is the reader's own: give it another name"
        raise UsageError(message)
    return types
