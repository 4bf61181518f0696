"""Holes in what a run delivers: records that never come, and what may leave them out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import distinct, lacking
from detloader.audits.measures.losses import full_epochs, is_chance, loss_by_batches
from detloader.audits.measures.source import source_of
from detloader.audits.measures.statistics import is_impossible, log_choose
from detloader.audits.rule import CannotTell

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.view import StreamView
    from detloader.findings import RecordId

__all__ = ["SHOWN", "Hole", "find_hole", "is_explained"]

LEAST_ASCENDING = 8
"""Rows from which on an ascending order is hardly a shuffle's, where none is declared."""

UNDECLARED = 1e-3
"""Chance of the same loss in each epoch from which on undeclared dropped batches explain it."""

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


def find_hole(view: StreamView, explained: Integers | None) -> Hole | None:
    """Find the records that the baseline delivers, or the source has, and that never come.

    Args:
        view: the run.
        explained: codes of records whose absence is explained already.

    Raises:
        CannotTell: neither the source nor a whole baseline is known.
    """
    return _unlike_baseline(view, explained) or _unlike_source(view, explained)


def _unlike_baseline(view: StreamView, explained: Integers | None) -> Hole | None:
    baseline = view.baseline
    if baseline is None:
        return None
    theirs, ours = distinct(baseline.record.values), distinct(view.record.values)
    size = view.declared("source_size") or len(theirs)
    if len(theirs) < size or len(lacking(ours, theirs)):
        return None  # the baseline lacks records itself
    codes = _unexplained(lacking(theirs, ours), explained)
    if not len(codes):
        return None
    return Hole(len(codes), size, view.identify(codes[:SHOWN]), codes, by_baseline=True)


def _unlike_source(view: StreamView, explained: Integers | None) -> Hole | None:
    size = view.declared("source_size")
    if view.record.vocabulary is not None and not view.has("index") and size is not None:
        known = 0 if explained is None else len(explained)
        count = int(size) - len(distinct(view.record.values)) - known
        return Hole(count, int(size), []) if count > 0 else None
    source = source_of(view)
    positions = lacking(np.arange(source.size), source.positions)
    if explained is not None:
        positions = positions[~np.isin(source.codes[positions], explained)]
    if not len(positions):
        return None
    codes = source.codes[positions]
    names = source.name(view, positions[:SHOWN])
    return Hole(
        len(positions), source.size, names, codes if (codes >= 0).all() else None, positions
    )


def _unexplained(codes: Integers, explained: Integers | None) -> Integers:
    return codes if explained is None else lacking(codes, explained)


def is_explained(view: StreamView, hole: Hole) -> bool:
    """Tell whether what was declared, an early stop or chance leaves these records out.

    Raises:
        CannotTell: too little was declared, or delivered, to say.
    """
    if view.declared("replacement") is True or view.declared("weights") is not None:
        return is_chance(view, hole.size, hole.codes, hole.count)
    samples = view.declared("num_samples")
    if samples is not None and samples < hole.size:
        return not is_impossible(view.rows * math.log1p(-hole.count / hole.size), hole.size)
    if hole.by_baseline:
        return _is_stopped_early(view) or _is_dropped_unlike_baseline(view, hole)
    if _is_ascending(view):
        return _is_explained_tail(view, hole)
    if view.declared("shuffle") is False:
        return _may_be_dropped(view, hole.count)
    return _is_explained_shuffle(view, hole)


def _may_be_dropped(view: StreamView, count: int) -> bool:
    """Tell whether dropping partial batches can lose so many records in an epoch."""
    most = loss_by_batches(view)
    return (most is None and view.declared("drop_remainder") is True) or count <= (most or 0)


def _is_dropped_unlike_baseline(view: StreamView, hole: Hole) -> bool:
    """Tell whether dropped batches may leave out records that the baseline delivers."""
    if not _may_be_dropped(view, hole.count) or _is_whole_by_same_declaration(view, hole.size):
        return False
    return view.declared("shuffle") is False or not is_impossible(_log_chance_of_loss(view, hole))


def _is_whole_by_same_declaration(view: StreamView, size: int) -> bool:
    """Tell whether the baseline makes batches in the same way and loses nothing."""
    fields = ("drop_remainder", "batch_size", "workers", "world_size")
    baseline = view.baseline
    return (
        baseline is not None
        and baseline.ranks == view.ranks
        and all(view.declared(name) == baseline.declared(name) for name in fields)
        and _most_delivered(baseline) == size
    )


def _most_delivered(view: StreamView) -> int:
    """Count the records of the epoch that has the most."""
    return max(len(distinct(view.record.values[rows])) for _, rows in view.by_epoch())


def _log_chance_of_loss(view: StreamView, hole: Hole) -> float:
    """Give the logarithm of the chance that epochs lose these records among others, each anew."""
    lost = hole.size - _most_delivered(view)
    in_one = log_choose(hole.size - hole.count, lost - hole.count) - log_choose(hole.size, lost)
    return log_choose(hole.size, hole.count) + full_epochs(view) * in_one


def _is_ascending(view: StreamView) -> bool:
    """Tell whether each epoch of each rank comes in the order of its IDs, and not by chance."""
    shuffle = view.declared("shuffle")
    if shuffle or (shuffle is None and view.rows < LEAST_ASCENDING):
        return False
    for _, rows in view.by_rank():
        records, epochs = view.record.values[rows], view.epoch[rows]
        if ((np.diff(records) < 0) & (np.diff(epochs) == 0)).any():
            return False
    return view.record.vocabulary is None


def _is_explained_tail(view: StreamView, hole: Hole) -> bool:
    """Judge a run in source order: an early stop or a dropped batch takes the tail alone."""
    positions = hole.positions
    if positions is not None and int(positions.min()) <= int(view.record.values.max()):
        batchers = view.ranks * max(view.declared("workers") or 1, 1)
        return batchers > 1 and _may_be_dropped(view, hole.count)
    if full_epochs(view) < 2:  # noqa: PLR2004
        return True
    most = loss_by_batches(view)
    return most is None or hole.count <= most


def _is_explained_shuffle(view: StreamView, hole: Hole) -> bool:
    """Judge a shuffled run: each epoch may drop others, so that records stay away by chance."""
    epochs, most = full_epochs(view), loss_by_batches(view)
    if most is None or hole.count <= most:
        log_chance = _log_chance_of_loss(view, hole)
        if most is not None or view.declared("drop_remainder") is True:
            return not is_impossible(log_chance)
        if log_chance > math.log(UNDECLARED):
            raise CannotTell("more epochs, or drop_remainder")
        return False
    if epochs > 1:
        return False
    if view.rows < hole.size:
        raise CannotTell("at least 2 epochs, for one may have been stopped early")
    if view.declared("replacement") is None:
        raise CannotTell("replacement")
    return False


def _is_stopped_early(view: StreamView) -> bool:
    """Tell whether the run is the beginning of its baseline."""
    baseline = view.baseline
    if baseline is None or baseline.rows < view.rows:
        return False
    if view.declared("num_epochs") == len(distinct(view.epoch)):
        return False
    begun = slice(view.rows)
    return np.array_equal(baseline.record.values[begun], view.record.values) and np.array_equal(
        baseline.epoch[begun], view.epoch
    )
