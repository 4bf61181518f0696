"""What the headers of two streams tell before a row is read."""

from __future__ import annotations

from itertools import islice, zip_longest
from typing import TYPE_CHECKING

from detloader.audits.measures.marks import first_and_any_marked
from detloader.findings import DifferenceLevel
from detloader.manifest.nothing import digests_of_nothing
from detloader.manifest.schema import Resume, is_compared, is_stored

if TYPE_CHECKING:
    from collections.abc import Iterable

    from detloader.manifest.reader import Rank, Stream

__all__ = [
    "absent_ranks",
    "compared_columns",
    "difference_levels",
    "goes_on",
    "hidden_differences",
    "holds_nothing",
    "is_open",
    "lacks_ranks",
    "not_compared",
    "several",
    "tell_hidden",
    "tell_no_rows",
    "tell_unfinished",
    "unequal_blocks",
    "unequal_digests",
]

TOLD_BY = {
    DifferenceLevel.SET: "record",
    DifferenceLevel.ORDER: "record",
    DifferenceLevel.BATCHES_AS_SETS: "batch",
    DifferenceLevel.BATCHES: "batch",
    DifferenceLevel.DRAWS: "draws",
    DifferenceLevel.CONTENT: "content",
    DifferenceLevel.RAW: "raw",
}
"""Which column each level of difference needs; any column of draws will do for `draws`."""

NAMED = 3
"""Numbers that a sentence names."""


def unequal_digests(a: Stream, b: Stream) -> list[str] | None:
    """Name the compared columns of both streams whose digests differ; None while one is open."""
    digests_a, digests_b = a.digests, b.digests
    if digests_a is None or digests_b is None:
        return None
    return [
        name
        for name, digests in digests_a.items()
        if is_compared(name) and name in digests_b and digests != digests_b[name]
    ]


def hidden_differences(a: Stream, b: Stream) -> list[str]:
    """Name the columns whose digests differ and whose rows one of the streams did not keep."""
    return [
        name
        for name in unequal_digests(a, b) or []
        if not (is_stored(name, a.level) and is_stored(name, b.level))
    ]


def tell_hidden(a: Stream, b: Stream) -> str | None:
    """Say which digests differ that stand for rows which one of the streams did not keep."""
    hidden = hidden_differences(a, b)
    if not hidden:
        return None
    return f"digests of {', '.join(hidden)} differ; rows of it were not kept: record at level full"


def not_compared(a: Stream, b: Stream) -> list[str]:
    """Name the columns of one stream only, and those that are never compared.

    Of two streams that hold nothing in a column, `without_unlike` gives one without it.
    """
    columns_a, columns_b = a.columns, b.columns
    return [
        name
        for name in dict.fromkeys([*columns_a, *columns_b])
        if not (is_compared(name) and name in columns_a and name in columns_b)
    ]


def compared_columns(a: Stream, b: Stream) -> list[str]:
    """Name the columns in which rows, or else digests, of both streams were compared."""
    unread = {*not_compared(a, b), *hidden_differences(a, b)}
    return [name for name in a.columns if name not in unread]


def difference_levels(columns: Iterable[str]) -> list[DifferenceLevel]:
    """Name the levels at which two streams can be told to differ from these compared columns."""
    told = {"draws" if name.startswith("draws") else name for name in columns}
    return [level for level, column in TOLD_BY.items() if column in told]


def holds_nothing(stream: Stream, name: str) -> bool:
    """Tell whether a column has no value in any row, for nobody could see what it is of.

    A row without draws has drawn nothing: that is known.
    """
    if name.startswith("draws") or name not in stream.columns or not stream.rows:
        return False
    return all(_holds_nothing(rank, name) for rank in stream.ranks)


def _holds_nothing(rank: Rank, name: str) -> bool:
    if not rank.rows:
        return True
    if rank.header.state != "complete":
        kept = is_stored(name, rank.header.level)
        return kept and rank.table([name])[name].null_count == rank.rows
    column = next(column for column in rank.header.columns if column.name == name)
    nothing = digests_of_nothing(column.type, rank.rows)
    return all(one == other for one, other in zip_longest(column.blocks, nothing))


def unequal_blocks(a: Stream, b: Stream) -> list[int] | None:
    """Number the blocks of rows, ascending, in which a compared column differs.

    None where headers do not tell: unless each is one sealed rank with the same columns, of
    which the same part was recorded, and one ends before the other only where its run does.
    """
    if len(a.ranks) != 1 or len(b.ranks) != 1 or a.samplings != b.samplings:
        return None
    if goes_on(a) != goes_on(b):
        return None  # the row of one is not that row of the other
    blocks_a, blocks_b = _blocks(a.ranks[0]), _blocks(b.ranks[0])
    if not (blocks_a and blocks_b) or blocks_a.keys() != blocks_b.keys():
        return None
    if a.rows != b.rows and not (a.complete and b.complete):
        return None
    unequal: set[int] = set()
    for name, blocks in blocks_a.items():
        if is_stored(name, a.level) and is_stored(name, b.level):
            pairs = zip_longest(blocks, blocks_b[name])
            unequal |= {block for block, (left, right) in enumerate(pairs) if left != right}
    return sorted(unequal)


def _blocks(rank: Rank) -> dict[str, list[str]]:
    """Give the digests of the blocks of each compared column; none while the rank is open."""
    if rank.header.state != "complete":
        return {}
    return {
        column.name: column.blocks for column in rank.header.columns if is_compared(column.name)
    }


def goes_on(stream: Stream) -> bool:
    """Tell whether a run is the part after a restart: it declares where, or marks its first row."""
    return isinstance(stream.declared.resume, Resume) or first_and_any_marked(stream)[0]


def is_open(stream: Stream) -> bool:
    """Tell whether a rank of a stream was not sealed."""
    return any(rank.header.state != "complete" for rank in stream.ranks)


def tell_unfinished(path: str, stream: Stream) -> str | None:
    """Say why a recording does not hold its whole run; None where it does."""
    if absent := absent_ranks(path, stream):
        return absent
    if stream.lost:
        return f"{stream.lost:,} of its rows could not be recorded"
    if is_open(stream):
        return f"{path} was cut off, or is still being recorded"
    return None if stream.complete else f"{path} was declared as not complete"


def tell_no_rows(path: str, stream: Stream) -> str | None:
    """Say of a run why it has no row to look at; None where it has one."""
    if stream.rows:
        return None
    if stream.lost:
        return (
            f"{path} has none of its {stream.lost:,} rows: none could be recorded; the warning "
            "given while it was recorded says why"
        )
    if stream.skipped:
        return (
            f"{path} has none of the {stream.skipped:,} rows of stream {stream.name!r}: epochs= or "
            "every= left them out; record others"
        )
    if is_open(stream):
        return (
            f"{path} has no row in stream {stream.name!r}: its process still runs, or ended "
            "without Python's own end (os._exit, a signal) before a row reached the disk"
        )
    return (
        f"{path} has no row in stream {stream.name!r}: nothing was taken from its loader; "
        "see that it is iterated, and that there are data"
    )


def lacks_ranks(stream: Stream) -> bool:
    """Tell whether ranks that a run is known to have had are not there."""
    return stream.ranks_told > len(stream.ranks)


def absent_ranks(path: str, stream: Stream) -> str | None:
    """Say which ranks of a run are not there; None where none is known to be absent."""
    if not lacks_ranks(stream):
        return None
    present = {rank.header.rank for rank in stream.ranks}
    absent = stream.ranks_told - len(present)
    first = islice((rank for rank in range(stream.ranks_told) if rank not in present), NAMED)
    return f"{path} lacks {several('rank', first, absent)} of {stream.ranks_told}"


def several(noun: str, numbers: Iterable[int], count: int) -> str:
    """Name the first of so many numbered things, such as "ranks 1, 2, 3 and 4 more"."""
    named = [str(number) for number in islice(numbers, NAMED)]
    if count == 1:
        return f"{noun} {named[0]}"
    if count > len(named):
        return f"{noun}s {', '.join(named)} and {count - len(named):,} more"
    return f"{noun}s {', '.join(named[:-1])} and {named[-1]}"
