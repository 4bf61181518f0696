"""Holes in what a run delivers: records that never come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import contains, count_others, distinct, lacking
from detloader.audits.measures.smaller_source import has_smaller_source
from detloader.audits.measures.source import Source, source_of
from detloader.audits.rule import CannotTell
from detloader.audits.view import SUBSTITUTES

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.rule import Known
    from detloader.audits.view import StreamView
    from detloader.findings import RecordId

__all__ = ["SHOWN", "Hole", "find_hole"]

SHOWN = 1000
"""Dropped records that the evidence names."""


@dataclass(frozen=True, eq=False, slots=True)
class Hole:
    """Records that were expected and never came.

    Attributes:
        count: how many.
        size: records in the source.
        names: their IDs, 1,000 at most; none where strings of the source are unknown.
        codes: shape (count,), int64; None where unknown.
        positions: shape (count,), int64; None where unknown.
        by_baseline: whether the baseline delivers them.
    """

    count: int
    size: int
    names: list[RecordId]
    codes: Integers | None = None
    positions: Integers | None = None
    by_baseline: bool = False


def find_hole(view: StreamView, known: Known) -> Hole | None:
    """Find the records that the baseline delivers, or the source has, and that never come.

    Args:
        view: the run.
        known: the records whose absence is explained already.

    Raises:
        CannotTell: neither the source nor a whole baseline is known.
    """
    return _unlike_baseline(view, known.missing) or _unlike_source(view, known)


def _unlike_baseline(view: StreamView, explained: Integers | None) -> Hole | None:
    baseline = view.baseline
    if baseline is None or has_smaller_source(view):
        return None
    if baseline.record.span is not None and baseline.record.span == view.record.span:
        return None
    theirs, ours = distinct(baseline.record.values), distinct(view.record.values)
    size = view.declared("source_size") or len(theirs)
    if len(theirs) < size or len(lacking(ours, theirs)):
        return None  # the baseline lacks records itself
    codes = _unexplained(lacking(theirs, ours), explained)
    if not len(codes):
        return None
    return Hole(len(codes), size, view.identify(codes[:SHOWN]), codes, by_baseline=True)


def _unlike_source(view: StreamView, known: Known) -> Hole | None:
    size = view.declared("source_size")
    if view.record.vocabulary is not None and view.places is None and size is not None:
        return _uncounted(view, int(size), known)
    source = source_of(view)
    return _in_source(view, source, known) or _behind_others(view, source, known)


def _uncounted(view: StreamView, size: int, known: Known) -> Hole | None:
    """Tell how many records never come where nobody knows which."""
    lost = 0 if known.missing is None else len(known.missing)
    count = size - len(distinct(view.record.values)) - lost
    return Hole(count, size, []) if count > 0 else None


def _behind_others(view: StreamView, source: Source, known: Known) -> Hole | None:
    """Find the few records in whose places others come; many are repeated on purpose.

    Raises:
        CannotTell: the others may stand there, too.
    """
    places, records = view.places, view.record.values
    if places is None or view.config("repeats") is not None or view.has("asked"):
        return None
    hidden = len(distinct(places)) - len(distinct(records))
    if not 0 < hidden <= SUBSTITUTES * source.size:
        return None
    if view.record.vocabulary is None and (places != records).sum() <= SUBSTITUTES * view.rows:
        by_number = Source(source.size, records, np.arange(source.size))
        return _in_source(view, by_number, known)
    if not count_others(places, records):
        raise CannotTell("asked")
    return _uncounted(view, source.size, known)


def _in_source(view: StreamView, source: Source, known: Known) -> Hole | None:
    explained = known.missing
    if source.positions is view.record.values and view.record.span == range(source.size):
        return None
    positions = lacking(np.arange(source.size), source.positions)
    if known.places is not None:
        positions = lacking(positions, known.places)
    if explained is not None:
        positions = positions[~contains(explained, source.codes[positions])]
    if not len(positions):
        return None
    codes = source.codes[positions]
    names = source.name(view, positions[:SHOWN])
    return Hole(
        len(positions), source.size, names, codes if (codes >= 0).all() else None, positions
    )


def _unexplained(codes: Integers, explained: Integers | None) -> Integers:
    return codes if explained is None else lacking(codes, explained)
