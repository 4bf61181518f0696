"""What differs between a frozen run and another, told from digests alone."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from detloader.audits.first import PRECEDENCE
from detloader.audits.frozen.freezing import grouped_blocks
from detloader.audits.headers import tell_unfinished
from detloader.errors import RunError
from detloader.manifest.schema import BLOCK_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from detloader.audits.frozen.form import Frozen, FrozenColumn, FrozenRank, FrozenStream
    from detloader.manifest.reader import Rank, Run, Stream
    from detloader.manifest.schema import Column

__all__ = ["Difference", "differences"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One difference; as text, a sentence without its full stop.

    Attributes:
        stream: name of the stream.
        rank: number of the rank; None where a whole stream is in one run only.
        column: name of the column; None where a whole rank is in one run only.
        rows: the rows of the rank, in delivery order, among which the column first differs;
            None where digests tell no place.
        what: what differs.
    """

    stream: str
    rank: int | None = None
    column: str | None = None
    rows: range | None = None
    what: str

    def __str__(self) -> str:
        named = (("stream", self.stream), ("rank", self.rank), ("column", self.column))
        where = ", ".join(f"{noun} {name}" for noun, name in named if name is not None)
        return f"{where} {self.what}"


def differences(frozen: Frozen, run: Run) -> list[Difference]:
    """Compare a run with a frozen one, column by column of each rank.

    A column that only one of the two has is not compared, nor is content that was digested
    otherwise.

    Returns:
        Each column that differs, with the place where it begins to, in the order of streams,
        ranks and causes: records, epochs, batches, draws, content. Empty where none differs.

    Raises:
        RunError: the run is not complete.
    """
    for stream in run.streams.values():
        if unfinished := tell_unfinished(run.path, stream):
            raise RunError(f"{unfinished}: compare a complete run")
    names = sorted({*frozen.streams, *run.streams})
    return [
        difference
        for name in names
        for difference in _stream(
            name, frozen.streams.get(name), run.streams.get(name), frozen.grouped
        )
    ]


_NOT_FROZEN = "is in the run, and not frozen"
_NOT_THERE = "is frozen, and not in the run"


def _stream(
    name: str, frozen: FrozenStream | None, stream: Stream | None, grouped: int
) -> Iterator[Difference]:
    if frozen is None or stream is None:
        yield Difference(stream=name, what=_NOT_FROZEN if frozen is None else _NOT_THERE)
        return
    passed_over = {"content"} if stream.roundings != {frozen.digesting} else set()
    ranks = {rank.header.rank: rank for rank in stream.ranks}
    for number in sorted({*frozen.ranks, *ranks}):
        before, now = frozen.ranks.get(number), ranks.get(number)
        if before is None or now is None:
            what = _NOT_FROZEN if before is None else _NOT_THERE
            yield Difference(stream=name, rank=number, what=what)
            continue
        for column in _shared(before, now, passed_over):
            yield from _column(name, before, now, column, grouped)


def _shared(frozen: FrozenRank, rank: Rank, passed_over: set[str]) -> list[str]:
    """Name the columns that can be compared, in causal order."""
    names = frozen.columns.keys() & rank.columns.keys() - passed_over
    return sorted(names, key=lambda name: ((*PRECEDENCE, name).index(name), name))


def _column(
    stream: str, frozen: FrozenRank, rank: Rank, name: str, grouped: int
) -> Iterator[Difference]:
    before = frozen.columns[name]
    now = next(column for column in rank.header.columns if column.name == name)
    if before.digest == now.digest:
        return
    number = rank.header.rank
    if before.type != now.type:
        what = f"is {now.type}, and frozen as {before.type}"
        yield Difference(stream=stream, rank=number, column=name, what=what)
        return
    rows = _first_rows(before, now, grouped, max(frozen.rows, rank.rows))
    place = f"differs in rows {rows.start:,} to {rows.stop - 1:,}" if rows else "differs"
    counts = "" if frozen.rows == rank.rows else f" ({rank.rows:,} rows, not {frozen.rows:,})"
    yield Difference(
        stream=stream, rank=number, column=name, rows=rows, what=f"first {place}{counts}"
    )


def _first_rows(before: FrozenColumn, now: Column, grouped: int, rows: int) -> range | None:
    """Give the rows of the first group of blocks that differs."""
    pairs = zip_longest(before.blocks, grouped_blocks(now.blocks, grouped))
    for group, (left, right) in enumerate(pairs):
        if left != right:
            start = group * grouped * BLOCK_ROWS
            return range(start, min(start + grouped * BLOCK_ROWS, rows))
    return None
