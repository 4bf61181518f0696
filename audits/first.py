"""Where two streams first differ.

Rows whose blocks have equal digests in both headers are equal: of one rank in each run,
only blocks that differ are looked at, and `find_first` reads no others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from detloader.audits.batches import batch_starts
from detloader.audits.columns import Column
from detloader.audits.headers import unequal_blocks, unequal_digests
from detloader.audits.integers import slices
from detloader.audits.pairs import load_pair
from detloader.audits.sampled import joined
from detloader.audits.view import load_views
from detloader.findings import FirstDifference
from detloader.manifest.schema import BLOCK_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from detloader.audits.columns import Flags
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue
    from detloader.manifest.reader import Stream

__all__ = ["describe", "find_first", "first_difference", "first_unequal"]

PRECEDENCE = ("record", "epoch", "batch", "draws", "content", "raw")
"""Which column a first difference names, where several differ in one row."""


def first_difference(a: StreamView, b: StreamView) -> FirstDifference | None:
    """Find the first row that differs between two views with the same compared columns."""
    shorter = end = min(a.rows, b.rows)
    named = None
    for name in sorted(("record", "epoch", "rank", *a.compared), key=_precedence):
        row = first_unequal(a, b, name, end)
        if row is not None:
            named, end = name, row
    if named is not None:
        return describe(a, end, b, end, named)
    return None if a.rows == b.rows else describe(a, shorter, b, shorter, "record")


def find_first(
    path_a: str, stream_a: Stream, path_b: str, stream_b: Stream
) -> tuple[FirstDifference | None, float, str | None]:
    """Find the first row that differs between two streams, from as few blocks as will do.

    Both are compared as far as they can be, as an audit would. Where each is one sealed
    rank, with the same columns, blocks of equal digests are not read.

    Args:
        path_a: where the baseline lies.
        stream_a: the baseline, which kept its rows.
        path_b: where the other run lies.
        stream_b: its stream of that name, with the same type of record ID.

    Returns:
        The row, None where none differs; compared rows over the rows of the longer run, 0 where
        no row could be compared; and what is to be said of where the comparison begins.

    Raises:
        DamageError: a file is missing, unreadable or of the wrong length.
    """
    sources = (path_a, stream_a), (path_b, stream_b)
    blocks = unequal_blocks(stream_a, stream_b)
    if blocks is None:
        pair = load_pair(*sources[0], *sources[1])
        found = first_difference(pair.common_a, pair.common_b)
        return found, pair.coverage, joined(pair.tell_restart(), pair.tell_numbering())
    rows = max(stream_a.rows, stream_b.rows)
    coverage = rows / max(stream_a.delivered, stream_b.delivered)
    return _first_in_blocks(sources, blocks), coverage, None


def _first_in_blocks(
    sources: Sequence[tuple[str, Stream]], blocks: Iterable[int]
) -> FirstDifference | None:
    for block in blocks:
        # With the block before it, for a batch begins where its label is not the last row's.
        start = max(block - 1, 0) * BLOCK_ROWS
        a, b = load_views(sources, range(start, (block + 1) * BLOCK_ROWS))
        found = first_difference(a, b)
        if found is not None:
            return msgspec.structs.replace(found, row=found.row + start)
    return None


def _precedence(name: str) -> int:
    return (*PRECEDENCE, name).index(name)


def first_unequal(a: StreamView, b: StreamView, name: str, end: int) -> int | None:
    """Give the first of so many rows in which a column differs; None where none does."""
    if not end or _are_one(a, b, name):
        return None
    left, right = _values(a, name), _values(b, name)
    for rows in slices(end):
        differs = ~left(rows).equals(right(rows))
        if differs.any():
            return int(rows.start + np.argmax(differs))
    return None


def _are_one(a: StreamView, b: StreamView, name: str) -> bool:
    """Tell from headers, without a look at its values, that a column is the same in both."""
    if name == "rank" or {a.ranks, b.ranks} != {1}:
        return False
    if a.selection is not None or b.selection is not None:
        return False
    if name == "batch" and not _are_one(a, b, "epoch"):  # where a batch begins hangs on both
        return False
    unequal = unequal_digests(a.stream, b.stream)
    return unequal is not None and name not in unequal


def _values(view: StreamView, name: str) -> Callable[[slice], Column]:
    if name in {"epoch", "rank"}:
        return Column(getattr(view, name)).take
    if name != "batch":
        return view.column(name).take
    if not view.is_delivery_order:
        return Column(batch_starts(view)).take
    return lambda rows: Column(_starts(view, rows))


def _starts(view: StreamView, rows: slice) -> Flags:
    """Tell where batches begin, from these rows and the one before them."""
    before = min(rows.start, 1)
    return batch_starts(view.take(slice(rows.start - before, rows.stop)))[before:]


def describe(
    a: StreamView, row_a: int | None, b: StreamView, row_b: int | None, name: str
) -> FirstDifference:
    """Say what a column holds in a row of each of two views, which none or one may lack.

    The place is that of the baseline's row, where it has one.
    """
    in_a = row_a is not None and row_a < a.rows
    known, row = (a, row_a) if in_a else (b, row_b)
    assert row is not None
    batch = known.compared["batch"].show(row) if "batch" in known.compared else None
    return FirstDifference(
        row=row,
        epoch=int(known.epoch[row]) if known.has("epoch") else None,
        batch=batch if isinstance(batch, int) else None,
        column=name,
        a=_show(a, row_a, name),
        b=_show(b, row_b, name),
    )


def _show(view: StreamView, row: int | None, name: str) -> JsonValue:
    if row is None or row >= view.rows:
        return None
    if name in {"epoch", "rank"}:
        return int(getattr(view, name)[row])
    return view.column(name).show(row)
