"""A run as it lies on disk.

Opening reads headers only; rows are read when a table is asked for.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from detloader.errors import DamageError, RunNotFoundError
from detloader.manifest.fingerprints import fingerprint
from detloader.manifest.folders import find_ranks
from detloader.manifest.opening import open_rank
from detloader.manifest.schema import Level

if TYPE_CHECKING:
    import pyarrow as pa

    from detloader.manifest.folders import Folder
    from detloader.manifest.schema import (
        ColumnType,
        Declared,
        Environment,
        Header,
        Recipe,
        Sampling,
    )

__all__ = ["Rank", "Run", "Stream", "open_run"]


@dataclass(frozen=True)
class Rank:
    """One rank of one stream."""

    header: Header
    folder: Folder

    @property
    def complete(self) -> bool:
        """Whether the recording was sealed, lost nothing, and was declared whole."""
        header = self.header
        whole = header.declared.complete is not False and header.seen.lost == 0
        return whole and header.state == "complete"

    @functools.cached_property
    def columns(self) -> Mapping[str, ColumnType]:
        """Columns in stored order; a rank that delivered no row may have none."""
        if self.header.columns or self.header.state == "complete":
            return {column.name: column.type for column in self.header.columns}
        from detloader.manifest.tables import unsealed_columns

        return unsealed_columns(self)

    @functools.cached_property
    def rows(self) -> int:
        """Rows that were recorded; of an open run, those that reached the disk."""
        if self.header.state == "complete":
            return self.header.seen.rows
        return self.header.seen.rows + len(self.unsealed)

    @functools.cached_property
    def unsealed(self) -> pa.Table:
        """Rows of an open run that no sealed part holds; read once, for they may be growing."""
        from detloader.manifest.tables import unsealed_rows

        return unsealed_rows(self)

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Read the rows in delivery order.

        Raises:
            RunError: the run has level `digest`, so its rows were not kept.
            DamageError: a file is missing, unreadable or of the wrong length.
        """
        from detloader.manifest.tables import read_rank

        return read_rank(self, columns)


@dataclass(frozen=True)
class Stream:
    """One loader of a run, over all ranks."""

    name: str
    ranks: tuple[Rank, ...]

    @property
    def declared(self) -> Declared:
        """What the first rank declared."""
        return self.ranks[0].header.declared

    @property
    def environment(self) -> Environment:
        """What the first rank ran on."""
        return self.ranks[0].header.environment

    @property
    def recipe(self) -> Recipe | None:
        """How the first rank's loader was made."""
        return self.ranks[0].header.recipe

    @property
    def roundings(self) -> frozenset[str | None]:
        """How content was digested, by `Header.digesting`; one for all ranks, or it differs."""
        return frozenset(rank.header.digesting for rank in self.ranks)

    @property
    def id_hashes(self) -> frozenset[str | None]:
        """Under which key record IDs are digests; one for all ranks, or it differs."""
        return frozenset(rank.header.id_hash or None for rank in self.ranks)

    @property
    def samplings(self) -> list[Sampling | None]:
        """Which part of what was delivered was recorded; one for all ranks, or it differs."""
        told: list[Sampling | None] = []
        for rank in self.ranks:
            sampling = rank.header.sampling or None
            if sampling not in told:
                told.append(sampling)
        return told

    @property
    def level(self) -> Level:
        """How much of each row every rank kept."""
        return min((rank.header.level for rank in self.ranks), key=list(Level).index)

    @property
    def rows(self) -> int:
        """Rows of all ranks."""
        return sum(rank.rows for rank in self.ranks)

    @property
    def lost(self) -> int:
        """Rows, of all ranks, that were delivered but could not be recorded."""
        return sum(rank.header.seen.lost for rank in self.ranks)

    @property
    def skipped(self) -> int:
        """Rows, of all ranks, that were delivered but were not to be recorded."""
        return sum(rank.header.seen.skipped or 0 for rank in self.ranks)

    @property
    def delivered(self) -> int:
        """Rows, of all ranks, that are known to have been delivered."""
        return self.rows + self.lost + self.skipped

    @property
    def complete(self) -> bool:
        """Whether every rank is there, was sealed, lost nothing, and was declared whole."""
        every_rank = len(self.ranks) >= self.ranks_told
        return every_rank and all(rank.complete for rank in self.ranks)

    @property
    def ranks_told(self) -> int:
        """How many ranks the run had, as its launcher, log, numbers or declaration tell.

        Ranks count from 0. Of a run that names no rank but 0 its declaration alone tells
        nothing: one log may hold the rows of all.
        """
        numbers = [rank.header.rank for rank in self.ranks]
        told = [rank.header.ranks or 0 for rank in self.ranks]
        if numbers != [0]:
            told.append(self.declared.world_size or 0)
        return max(*told, max(numbers) + 1)

    @property
    def columns(self) -> Mapping[str, ColumnType]:
        """Columns that every rank with rows has, in the order of the first such rank."""
        shared = [rank.columns for rank in self.ranks if rank.columns]
        first = shared[0] if shared else {}
        return {
            name: type_
            for name, type_ in first.items()
            if all(other.get(name) == type_ for other in shared)
        }

    @property
    def digests(self) -> Mapping[str, tuple[tuple[int, str], ...]] | None:
        """Digests of each column, as (rank, digest); None while a rank is open."""
        if any(rank.header.state != "complete" for rank in self.ranks):
            return None
        found: dict[str, list[tuple[int, str]]] = {}
        for rank in self.ranks:
            for column in rank.header.columns:
                found.setdefault(column.name, []).append((rank.header.rank, column.digest))
        return {name: tuple(digests) for name, digests in found.items()}

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Read the rows of all ranks in canonical order, with int64 `rank` and `position`.

        Canonical order is (epoch, batch, rank, position); without a batch column it is
        (epoch, place in the epoch of that rank, rank). One rank alone keeps its order.

        Raises:
            RunError: the run has level `digest`, so its rows were not kept.
            DamageError: a file is missing, unreadable or of the wrong length.
        """
        from detloader.manifest.tables import read_stream

        return read_stream(self, columns)

    def to_pandas(self, columns: Sequence[str] | None = None) -> Any:
        """Give the rows of all ranks as a `pandas.DataFrame`; digests are exact, as `UInt64`.

        Rows and columns are those of `table`. Whole numbers and flags have nullable types.

        Raises:
            RunError: the run has level `digest`, so its rows were not kept.
            DamageError: a file is missing, unreadable or of the wrong length.
            MissingExtraError: pandas is not installed.
        """
        from detloader.manifest.frames import to_frame

        return to_frame(self.table(columns))


@dataclass(frozen=True)
class Run:
    """All streams and ranks below one folder."""

    path: str
    streams: Mapping[str, Stream]

    @property
    def run_id(self) -> str:
        """The ID that its ranks share."""
        return next(iter(self.streams.values())).ranks[0].header.run_id

    @property
    def rows(self) -> int:
        """Rows of all streams and ranks."""
        return sum(stream.rows for stream in self.streams.values())

    @property
    def complete(self) -> bool:
        """Whether every stream is."""
        return all(stream.complete for stream in self.streams.values())

    def to_pandas(self) -> Any:
        """Give the rows of all streams as a `pandas.DataFrame`, `stream` being its first column.

        What one stream records and another does not is missing in the other's rows.

        Raises:
            RunError: the run has level `digest`, so its rows were not kept.
            DamageError: a file is missing, unreadable or of the wrong length.
            MissingExtraError: pandas is not installed.
        """
        from detloader.manifest.frames import stacked

        return stacked({name: stream.to_pandas() for name, stream in self.streams.items()})

    @functools.cached_property
    def fingerprint(self) -> str | None:
        """SHA-256, in hex, over the compared columns of all ranks; None while one is open."""
        headers = [rank.header for stream in self.streams.values() for rank in stream.ranks]
        if any(header.state != "complete" for header in headers):
            return None
        if len(headers) == 1:
            return headers[0].fingerprint
        return fingerprint(headers)


def open_run(path: str | os.PathLike[str]) -> Run:
    """Open a recorded run; only headers are read, and nothing that they name is run.

    Raises:
        RunNotFoundError: there is no run in that folder.
        DamageError: headers, sizes or names of files show that the run was damaged, or
            that its ranks come from several runs.
        RunError: a file cannot be read.
    """
    ranks = [Rank(*open_rank(folder)) for folder in find_ranks(path)]
    ranks.sort(key=lambda rank: (rank.header.stream, rank.header.rank))
    if not ranks:
        what = "holds no run" if Path(path).exists() else "does not exist"
        message = f"{path} {what}: record or import one, or check the path"
        raise RunNotFoundError(message)
    streams: dict[str, list[Rank]] = {}
    for rank in ranks:
        if rank.header.run_id != ranks[0].header.run_id:
            message = (
                f"{rank.folder} belongs to run {rank.header.run_id}, {ranks[0].folder} to run "
                f"{ranks[0].header.run_id}: keep each run in a folder of its own"
            )
            raise DamageError(message)
        streams.setdefault(rank.header.stream, []).append(rank)
    return Run(
        path=os.fspath(path),
        streams={name: Stream(name, tuple(members)) for name, members in streams.items()},
    )
