"""What may leave records out without a fault: what was declared, an early stop, or chance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import contains, distinct, tally
from detloader.audits.measures.beginnings import is_cut_before_end
from detloader.audits.measures.behind import lie_behind, parts_of
from detloader.audits.measures.dealing import declared_copies
from detloader.audits.measures.deliverers import deliverers_of
from detloader.audits.measures.losses import (
    SAMPLES,
    ends_in_a_part,
    full_epochs,
    is_beginning_of_baseline,
    is_chance,
    loss_by_batches,
    observed_batch_size,
)
from detloader.audits.measures.orders import source_order
from detloader.audits.measures.remainders import shape_of
from detloader.audits.measures.replacement import is_drawn_with_replacement
from detloader.audits.measures.statistics import is_impossible, log_choose
from detloader.audits.measures.tails import fixed_positions, tails
from detloader.audits.rule import CannotTell

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.measures.holes import Hole
    from detloader.audits.view import StreamView

__all__ = ["is_explained"]

LEAST_ASCENDING = 8
"""Rows from which on an ascending order is hardly a shuffle's, where none is declared."""

FEW = 0.05
"""Share of rows up to which repeated records may be padding, or substitutes."""

UNDECLARED = 1e-3
"""Chance of the same loss in each epoch from which on undeclared dropped batches explain it."""

ONE_EPOCH = "at least 2 epochs, for one may have been stopped early"


def is_explained(view: StreamView, hole: Hole) -> bool:
    """Tell whether what was declared, an early stop or chance leaves these records out.

    Raises:
        CannotTell: too little was declared, or delivered, to say.
    """
    samples = view.declared("num_samples")
    if view.declared("replacement") is True or view.declared("weights") is not None:
        return is_chance(view, hole.size, hole.codes, hole.count)
    if is_drawn_with_replacement(view):
        return _is_said(view)
    if samples is not None and samples < hole.size:
        if _are_behind_samples(view, hole, int(samples)):
            return True
        ways = log_choose(hole.size, hole.count)
        return not is_impossible(ways + view.rows * math.log1p(-hole.count / hole.size))
    if view.declared("replacement") is None and _repeats(view) > FEW * view.rows:
        raise CannotTell("replacement")  # by class, by mixture: such an epoch is no pass
    return _is_explained_pass(view, hole)


def _are_behind_samples(view: StreamView, hole: Hole, samples: int) -> bool:
    """Tell whether an unshuffled run that is to deliver the first records lacks others alone."""
    if view.declared("shuffle") is not False or hole.count > hole.size - samples:
        return False
    return hole.positions is None or int(hole.positions[0]) >= samples


def _repeats(view: StreamView) -> int:
    """Count the rows that repeat a record of their epoch, where some come oftener than others."""
    times = [tally(view.asked[rows])[1] for _, rows in view.by_epoch()]
    return sum(int((each - 1).sum()) for each in times if each.min() < each.max())


def _is_explained_pass(view: StreamView, hole: Hole) -> bool:
    """Judge a run that is to deliver each record once an epoch."""
    _require_even_epochs(view)
    if hole.by_baseline:
        return _is_explained_beside_baseline(view, hole)
    if _is_ascending(view):
        return _is_explained_tail(view, hole)
    if view.declared("shuffle") is False:
        return _is_explained_in_order(view, hole)
    return _is_explained_shuffle(view, hole)


def _require_even_epochs(view: StreamView) -> None:
    """Make sure that epochs are of like length: a curriculum, say, has all records in its last."""
    *lengths, last = tally(view.epoch)[1].tolist()
    longest = max([*lengths, last])
    if lengths and (last > max(lengths) or longest - min(lengths) > FEW * longest):
        raise CannotTell("epochs of like length")


def _is_said(view: StreamView) -> bool:
    """Tell that records are drawn with replacement against what is declared: another rule."""
    if view.declared("replacement") is None:
        raise CannotTell("replacement")
    return True


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
    return max(len(distinct(view.asked[rows])) for rows in view.epochs.values())


def _log_chance_of_loss(view: StreamView, hole: Hole) -> float:
    """Give the logarithm of the chance that epochs lose these records among others, each anew."""
    # Where a record came in another's place, fewer are lost than there are places in the hole.
    lost = max(hole.size - _most_delivered(view), hole.count)
    in_one = log_choose(hole.size - hole.count, lost - hole.count) - log_choose(hole.size, lost)
    return log_choose(hole.size, hole.count) + full_epochs(view) * in_one


def _is_explained_beside_baseline(view: StreamView, hole: Hole) -> bool:
    """Judge a run whose baseline delivers these records."""
    if is_beginning_of_baseline(view):
        return True
    if _may_be_stopped(view, hole) and not _follows_baseline(view):
        raise CannotTell(ONE_EPOCH)
    if any(is_cut_before_end(view, rows) for _, rows in view.by_epoch()):
        return False
    if _is_dropped_unlike_baseline(view, hole):
        return True
    _require_more_than_chance(view, hole)
    return False


def _require_more_than_chance(view: StreamView, hole: Hole) -> None:
    """Make sure that it is not each epoch that leaves out others, as samples of the source do."""
    lost = hole.size - _most_delivered(view)
    if view.declared("shuffle") is False or full_epochs(view) < 2 or lost <= hole.count:  # noqa: PLR2004
        return
    if not is_impossible(_log_chance_of_loss(view, hole)):
        raise CannotTell(SAMPLES)


def _follows_baseline(view: StreamView) -> bool:
    """Tell whether an epoch comes in the baseline's order; an early stop is its beginning."""
    assert view.baseline is not None
    values, firsts = np.unique(view.baseline.record.values, return_index=True)
    places = firsts[np.searchsorted(values, view.record.values)]
    return bool((np.diff(places) > 0).all())


def _rows_of_one_copy(view: StreamView) -> int:
    """Count the rows, where several ranks deliver the same on purpose those of one of them."""
    return view.rows // declared_copies(view, "replication")


def _may_be_stopped(view: StreamView, hole: Hole) -> bool:
    """Tell whether the one epoch may have been left before its end, at the end of a batch."""
    if full_epochs(view) > 1 or _rows_of_one_copy(view) >= hole.size or ends_in_a_part(view):
        return False
    size = observed_batch_size(view)
    if view.declared("num_epochs") != len(distinct(view.epoch)):
        return True
    return size is not None and size > 1 and not (tally(view.rank)[1] % size).any()


def _is_explained_in_order(view: StreamView, hole: Hole) -> bool:
    """Judge an unshuffled run whose IDs do not tell whether it is the source's beginning."""
    if _may_be_dropped(view, hole.count):
        return True
    interleaved = view.declared("workers") not in {0, 1} and not view.has("worker")
    if full_epochs(view) < 2 and (hole.positions is None or interleaved):  # noqa: PLR2004
        raise CannotTell(f"index and worker, or {ONE_EPOCH}")
    return False


def _is_ascending(view: StreamView) -> bool:
    """Tell whether each part of each epoch comes in the source's order, and not by chance."""
    shuffle = view.declared("shuffle")
    if shuffle or (shuffle is None and view.rows < LEAST_ASCENDING):
        return False
    places = source_order(view)
    for rows in parts_of(view):
        back = np.diff(places[rows]) < 0
        if (back & (np.diff(view.epoch[rows]) == 0)).any():
            return False
    return True


def _is_explained_tail(view: StreamView, hole: Hole) -> bool:
    """Judge a run in source order: an early stop or a dropped batch takes the tail alone."""
    if hole.positions is not None and not lie_behind(view, hole.positions):
        if full_epochs(view) < 2 and _lacks_workers(view):  # noqa: PLR2004
            raise CannotTell(ONE_EPOCH)
        return _may_be_dropped(view, hole.count) and _are_tails_of_parts(
            view, hole.size, hole.positions
        )
    if full_epochs(view) < 2:  # noqa: PLR2004
        return True
    most = loss_by_batches(view)
    return most is None or hole.count <= most


def _are_tails_of_parts(view: StreamView, size: int, positions: Integers) -> bool:
    """Tell whether ranks or workers that drop their last batches would lose these records."""
    shape = shape_of(view, size)
    dealt = [fixed_positions(shape, tail) for tail in tails(shape) if tail.parts]
    return any(contains(lost, positions).all() for ways in dealt for lost in ways)


def _lacks_workers(view: StreamView) -> bool:
    """Tell whether some worker may have delivered nothing yet, for the run was left early."""
    workers = int(view.declared("workers") or 1)
    return workers > 1 and (
        not view.has("worker") or len(deliverers_of(view)) < workers * view.ranks
    )


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
    _require_more_than_chance(view, hole)
    if epochs > 1:
        return False
    if _rows_of_one_copy(view) < hole.size:
        raise CannotTell(ONE_EPOCH)
    if view.declared("replacement") is None:
        raise CannotTell("replacement")
    return False
