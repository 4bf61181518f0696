"""Gaps that parts leave in a source: they walk with the stride of more parts than there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import distinct, lacking, tally
from detloader.audits.measures.source import source_of
from detloader.audits.rule import CannotTell

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.measures.source import Source
    from detloader.audits.view import StreamView

__all__ = ["Gap", "find_gap"]

LEAST_STEPS = 4
"""Records of a part from which on its stride is no accident."""

LARGEST_STRIDE = 64
"""Times the number of parts up to which a stride is that of too many parts."""


@dataclass(frozen=True, eq=False, slots=True)
class Gap:
    """What parts of one stride step over.

    Attributes:
        stride: source positions from one record of a part to its next.
        places: shape (missing,), int64; the source positions that no part takes, ascending.
        codes: codes of their records, ascending, as far as these are known.
    """

    stride: int
    places: Integers
    codes: Integers


def find_gap(view: StreamView, rows: Integers, part: Integers, by: str) -> Gap | None:
    """Find what the parts of an epoch step over, all with one stride that is too wide.

    Args:
        view: the run.
        rows: shape (delivered,), int64; rows of an epoch, each part's in delivery order.
        part: shape (delivered,), int64; the worker or rank of each.
        by: "worker" or "rank".
    """
    source = _source(view, by)
    if source is None or int(tally(part)[1].min()) < LEAST_STEPS:
        return None
    parts, places = distinct(part), source.positions[rows]
    stride = _stride([places[part == one] for one in parts])
    if not len(parts) < stride <= LARGEST_STRIDE * len(parts):
        return None
    if int(places.max()) < source.size - stride:
        return None
    if by == "rank" and (
        _is_one_worker_of_several(view, rows, stride, len(parts)) or _is_beginning(view, rows)
    ):
        return None
    missing = lacking(np.arange(source.size), places)
    codes = source.codes[missing]
    return Gap(stride, missing, np.sort(codes[codes >= 0]))


def _source(view: StreamView, by: str) -> Source | None:
    """Place rows in the source; None where something else may lie between them."""
    ranks = len(view.stream.ranks)
    if (view.declared("world_size") or ranks) > ranks or (by == "worker" and ranks > 1):
        return None  # the steps of other ranks
    if view.filters or view.has("asked"):
        return None
    try:
        return source_of(view)
    except CannotTell:
        return None


def _stride(walks: list[Integers]) -> int:
    """Give the one step of all walks; 0 where there are several."""
    steps = distinct(np.concatenate([np.diff(walk) for walk in walks]))
    return int(steps[0]) if len(steps) == 1 else 0


def _is_one_worker_of_several(view: StreamView, rows: Integers, stride: int, parts: int) -> bool:
    """Tell whether the epoch was left before the other workers, which take steps between, began."""
    worker = view.column("worker").values if view.has("worker") else None
    seen = 1 if worker is None else len(distinct(worker))
    workers = max(int(view.declared("workers") or 1), seen)
    if workers == 1 or stride != parts * workers:
        return False
    if worker is None:
        raise CannotTell("worker")
    return len(distinct(worker[rows])) < workers


def _is_beginning(view: StreamView, rows: Integers) -> bool:
    """Tell whether each rank began as it did in the first epoch, and went on there."""
    record, rank = view.record.values, view.rank
    _, whole = next(view.by_epoch())
    whole = whole[np.argsort(view.position[whole], kind="stable")]
    for one in distinct(rank[rows]):
        begun, gone_on = (record[some[rank[some] == one]] for some in (rows, whole))
        if not len(begun) < len(gone_on) or not np.array_equal(begun, gone_on[: len(begun)]):
            return False
    return True
