"""Where two streams first differ.

Rows whose blocks have equal digests in both headers are equal: of one rank in each run,
only blocks that differ are looked at, and `first_difference_of` reads no others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from detloader.audits.batches import batch_starts
from detloader.audits.columns import Column
from detloader.audits.headers import unequal_blocks
from detloader.audits.integers import slices
from detloader.audits.pairs import load_pair
from detloader.audits.view import load_views
from detloader.findings import FirstDifference
from detloader.manifest.schema import BLOCK_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable

    from detloader.audits.columns import Flags
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue
    from detloader.manifest.reader import Stream

__all__ = ["first_difference", "first_difference_of"]

PRECEDENCE = ("record", "epoch", "batch", "draws", "content", "raw")
"""Which column a first difference names, where several differ in one row."""


def first_difference(a: StreamView, b: StreamView) -> FirstDifference | None:
    """Find the first row that differs between two views with the same compared columns."""
    shorter = end = min(a.rows, b.rows)
    named = None
    for name in sorted(("record", "epoch", "rank", *a.compared), key=_precedence):
        row = _first_unequal(a, b, name, end) if end else None
        if row is not None:
            named, end = name, row
    if named is not None:
        return _describe(a, b, end, named)
    return None if a.rows == b.rows else _describe(a, b, shorter, "record")


def first_difference_of(
    path_a: str, stream_a: Stream, path_b: str, stream_b: Stream
) -> FirstDifference | None:
    """Find the first row that differs between two streams, from as few blocks as will do.

    Both are compared as far as they can be, as an audit would. Where each is one sealed
    rank, with the same columns, blocks of equal digests are not read.

    Args:
        path_a: where the baseline lies.
        stream_a: the baseline, which kept its rows.
        path_b: where the other run lies.
        stream_b: its stream of that name, with the same type of record ID.

    Raises:
        DamageError: a file is missing, unreadable or of the wrong length.
    """
    blocks = unequal_blocks(stream_a, stream_b)
    if blocks is None:
        pair = load_pair(path_a, stream_a, path_b, stream_b)
        return first_difference(pair.common_a, pair.common_b)
    for block in blocks:
        # With the block before it, for a batch begins where its label is not the last row's.
        start = max(block - 1, 0) * BLOCK_ROWS
        rows = range(start, (block + 1) * BLOCK_ROWS)
        a, b = load_views([(path_a, stream_a), (path_b, stream_b)], rows)
        found = first_difference(a, b)
        if found is not None:
            return msgspec.structs.replace(found, row=found.row + start)
    return None


def _precedence(name: str) -> int:
    return (*PRECEDENCE, name).index(name)


def _first_unequal(a: StreamView, b: StreamView, name: str, end: int) -> int | None:
    """Give the first of so many rows in which a column differs; None where none does."""
    left, right = _values(a, name), _values(b, name)
    for rows in slices(end):
        differs = ~left(rows).equals(right(rows))
        if differs.any():
            return int(rows.start + np.argmax(differs))
    return None


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


def _describe(a: StreamView, b: StreamView, row: int, name: str) -> FirstDifference:
    known = a if row < a.rows else b
    batch = known.compared["batch"].show(row) if "batch" in known.compared else None
    return FirstDifference(
        row=row,
        epoch=int(known.epoch[row]) if known.has("epoch") else None,
        batch=batch if isinstance(batch, int) else None,
        column=name,
        a=_show(a, row, name),
        b=_show(b, row, name),
    )


def _show(view: StreamView, row: int, name: str) -> JsonValue:
    if row >= view.rows:
        return None
    if name in {"epoch", "rank"}:
        return int(getattr(view, name)[row])
    return view.column(name).show(row)
