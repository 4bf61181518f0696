"""One rank of a run, being recorded.

Rows go to the journal at once. When a part's worth has come together they are digested and
written as a sealed part, and a new journal is begun, which lists it unless the header does: in
that order, so that a process may die between any two steps, or a step may fail, and no row is
lost or doubled.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

import msgspec
import pyarrow as pa

from detloader.errors import UsageError
from detloader.manifest.canonical import check_json, encode_header
from detloader.manifest.column_types import column_types
from detloader.manifest.digests import arrow_type, block_digests
from detloader.manifest.fingerprints import fingerprint
from detloader.manifest.folders import folder_of
from detloader.manifest.layout import HEADER, part_path
from detloader.manifest.parts import part_bytes
from detloader.manifest.run_id import choose_run_id
from detloader.manifest.schema import (
    PART_ROWS,
    Declared,
    Environment,
    FileEntry,
    Header,
    Level,
    Recipe,
    Seen,
    is_stored,
)
from detloader.manifest.sealed import Sealed
from detloader.manifest.unpacking import MOST_BYTES

if TYPE_CHECKING:
    from types import TracebackType

    from detloader.manifest.journal import Journal
    from detloader.manifest.keyed import IdHash
    from detloader.manifest.relative import IdRoot
    from detloader.manifest.remote import NoJournal
    from detloader.manifest.rounding import Rounding
    from detloader.manifest.schema import Sampling

__all__ = ["PART_ROWS", "RankWriter"]


class RankWriter:
    """Writes the folder of one rank, `RUN/<stream>/rank-00000`.

    Use it as a context manager: leaving the block seals the run, an error discards it.

    Attributes:
        folder: the rank's folder.
        rows: rows appended so far; after an error, those that were taken.
        id_root: folder that record IDs are told relative to.
        below_root: whether an ID lay below it.
        sampling: which part of what is delivered is kept; None for all.
        strong: whether content is digested by SHA-256.
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
        id_hash: IdHash | None = None,
        rounding: Rounding | None = None,
        strong: bool = False,
        sampling: Sampling | None = None,
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
            id_hash: key of the digests that IDs are told as; None tells the IDs.
            rounding: what whoever digests content has done to floats before.
            strong: whether content is digested by SHA-256.
            sampling: which part of what is delivered whoever appends rows keeps.

        Raises:
            RunExistsError: that rank of that stream is recorded, or being recorded, or
                the folder belongs to a run with another ID.
            RunError: the folder cannot be written.
            UsageError: the stream's name or the rank cannot be used, or what was declared
                cannot be written as JSON.
        """
        self.rows = 0
        if id_hash is not None:
            declared = id_hash.told(declared)
            # Its arguments may be IDs.
            recipe = recipe and msgspec.structs.replace(recipe, arguments={})
        self.folder = folder_of(run, stream, rank)
        self._header = Header(
            run_id=run_id or "",
            stream=stream,
            rank=rank,
            ranks=ranks,
            level=level,
            state="open",
            recipe=recipe,
            relative_ids=msgspec.UNSET if id_root is None else True,
            id_hash=msgspec.UNSET if id_hash is None else id_hash.name,
            digest="sha256" if strong else msgspec.UNSET,
            rounding=msgspec.UNSET if rounding is None else rounding.name,
            sampling=sampling or msgspec.UNSET,
            declared=declared,
            environment=environment,
            seen=Seen(),
        )
        self.id_root = id_root
        self.below_root = False
        self._id_hash = id_hash
        self.sampling = sampling
        self.strong = strong
        self._journal: Journal | NoJournal | None = None
        self._sealed = Sealed({})
        self._pending: list[pa.Table] = []
        self._pending_bytes = 0
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
        rows = self._as_told(rows)
        types = column_types(rows.schema)
        if self._journal is None:
            self._sealed = Sealed(types)
            self._begin_journal()
        if types != self._sealed.types:
            message = f"the columns changed from {self._sealed.types} to {types}"
            raise UsageError(message)
        rows = rows.select(list(self._sealed.types)).cast(self._arrow_schema())
        while len(rows):
            if self.rows - self._sealed.rows == PART_ROWS:
                self._seal_part()
                if self._sealed.count_unlisted() > self.folder.most_unlisted:
                    self._list_parts(self._sealed_header([], 0))
                self._begin_journal()
            room = PART_ROWS - (self.rows - self._sealed.rows)
            self._take(rows.slice(0, room))
            rows = rows.slice(room)

    def close(
        self,
        *,
        seeds: Iterable[int] = (),
        lost: int = 0,
        skipped: int | None = None,
        broken_off: bool = False,
    ) -> None:
        """Seal the run: digest what is left, list every file, say `complete`.

        Args:
            seeds: seeds that the loader used, in order of first use.
            lost: rows that could not be recorded.
            skipped: rows that `sampling` left out; None where there is none.
            broken_off: whether the loader failed or was interrupted: the run is then
                declared to be a part of what it was meant to be.
        """
        if self._closed:
            return
        if self.rows > self._sealed.rows:
            self._seal_part()
        if self._sealed.count_unlisted():
            self._list_parts(self._sealed_header([], 0))
        header = self._sealed_header(list(seeds), lost)
        if skipped is not None:
            seen = msgspec.structs.replace(header.seen, skipped=skipped)
            header = msgspec.structs.replace(header, seen=seen)
        if broken_off:
            declared = msgspec.structs.replace(header.declared, complete=False)
            header = msgspec.structs.replace(header, declared=declared)
        # Now every row is in a part that the open header lists. The header that says
        # `complete` comes last: a process that dies before it leaves an open run.
        self._closed = True
        self._drop_journal()
        self.folder.release()
        self._header = msgspec.structs.replace(
            header, state="complete", fingerprint=fingerprint([header])
        )
        self._write_header(self._header)

    def note_loss(self, lost: int) -> None:
        """Let the header say, while the run is open, how many rows could not be recorded."""
        self._list_parts(self._sealed_header([], lost))

    def redeclare(self, **fields: object) -> None:
        """Let the header declare something else, which showed itself only later."""
        declared = msgspec.structs.replace(self._header.declared, **fields)
        if declared == self._header.declared:
            return
        self._header = msgspec.structs.replace(self._header, declared=declared)
        if self._closed:
            self._write_header(self._header)
        else:
            self._list_parts(self._sealed_header([], 0))

    def discard(self) -> None:
        """Remove all that was written, and the folders that were made for it."""
        self._closed = True
        self._drop_journal()
        self.folder.remove()

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
        check_json(self._header)
        with self.folder.beginning():
            run_id = choose_run_id(self.folder.run, run_id)
            self._header = msgspec.structs.replace(self._header, run_id=run_id)
            self._write_header(self._header)

    def _as_told(self, rows: pa.Table) -> pa.Table:
        """Return rows with IDs as the run is to have them; no others reach the disk."""
        if self.id_root is not None:
            given, rows = rows, self.id_root.apply(rows)
            self.below_root |= rows != given
        return rows if self._id_hash is None else self._id_hash.apply(rows)

    def _take(self, rows: pa.Table) -> None:
        assert self._journal is not None
        if self._pending_bytes + rows.nbytes > MOST_BYTES:
            message = f"{self.folder}: {PART_ROWS:,} rows have {MOST_BYTES:,} bytes at most"
            raise UsageError(message)
        self._journal.append(rows)
        self._pending.append(rows)
        self._pending_bytes += rows.nbytes
        self.rows += len(rows)
        if "epoch" in self._sealed.types:
            self._sealed.note_epochs(rows["epoch"].unique().to_pylist())

    def _seal_part(self) -> None:
        """Write the pending rows as a part; where that fails, they stay pending."""
        rows = pa.concat_tables(self._pending)
        digests = {name: list(block_digests(rows[name])) for name in self._sealed.types}
        stored = [name for name in digests if is_stored(name, self._header.level)]
        file = self._write_part(rows.select(stored)) if stored else None
        self._sealed.add(len(rows), digests, file)
        self._pending, self._pending_bytes = [], 0

    def _write_part(self, rows: pa.Table) -> FileEntry:
        path = part_path(len(self._sealed.files))
        data = part_bytes(rows)
        self.folder.write(path, data)
        digest = hashlib.sha256(data).hexdigest()
        return FileEntry(path=path, size=len(data), rows=len(rows), sha256=digest)

    def _arrow_schema(self) -> pa.Schema:
        return pa.schema([(name, arrow_type(type_)) for name, type_ in self._sealed.types.items()])

    def _begin_journal(self) -> None:
        self._journal = self.folder.begin_journal(
            self._arrow_schema(), self._sealed.rows, self._sealed.unlisted()
        )

    def _sealed_header(self, seeds: list[int], lost: int) -> Header:
        return msgspec.structs.replace(
            self._header,
            columns=self._sealed.columns(),
            files=list(self._sealed.files),
            seen=self._sealed.seen(seeds, lost),
        )

    def _list_parts(self, header: Header) -> None:
        self._write_header(header)
        self._sealed.note_listed()

    def _write_header(self, header: Header) -> None:
        self.folder.write(HEADER, encode_header(header))

    def _drop_journal(self) -> None:
        if self._journal is not None:
            self.folder.drop_journal()
