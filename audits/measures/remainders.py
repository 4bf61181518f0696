"""Remainders of epochs: which epochs lost one, or were filled up, and in which way."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.batches import batch_spans
from detloader.audits.integers import ascends, contains, distinct
from detloader.audits.measures.beginnings import ends_early, lacks_before_end, late_beginnings
from detloader.audits.measures.deliverers import deliverers_of, ranks_as_deliverers
from detloader.audits.measures.losses import DROPS_UNEVEN, is_beginning_of_baseline
from detloader.audits.measures.orders import have_one_order
from detloader.audits.measures.statistics import PLAUSIBLE, is_impossible, log_choose
from detloader.audits.measures.tails import Shape, Tail, fixed_positions, lengths_of_padding, tails
from detloader.audits.rule import CannotTell

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.measures.census import Census, EpochCount
    from detloader.audits.rule import Known
    from detloader.audits.view import StreamView


__all__ = ["Loss", "find_loss", "find_padding", "places_of_repeats", "shape_of"]


SLIPS = 0.05
"""Share of an epoch's rows up to which repeated records are padding, or substitutes."""

UNLIKELY = 1e-2
"""Chance of the same loss in each epoch below which no remainder, declared to be kept, is meant."""


@dataclass(frozen=True, eq=False, slots=True)
class Loss:
    """Epochs that lose records in one way."""

    tail: Tail
    epochs: list[EpochCount]
    never: Integers
    fixed: bool


def shape_of(view: StreamView, size: int) -> Shape:
    """Gather what decides how many records an epoch of a run loses."""
    batch_size = view.declared("batch_size")
    if batch_size is None and "batch" in view.compared:
        first, last = batch_spans(view, view.delivery_order())
        batch_size = int((last - first).max())
    workers = view.declared("workers")
    if workers is None and view.has("worker"):
        workers = len(np.unique(view.column("worker").values))
    return Shape(
        size=size,
        batch_size=batch_size,
        ranks=view.ranks,
        workers=workers or 0,
        drop_remainder=view.declared("drop_remainder"),
        drops_uneven=view.config(DROPS_UNEVEN) is True,
    )


def find_loss(census: Census, shape: Shape, known: Known) -> Loss | None:
    """Find the epochs that lost a remainder, in the plainest way that explains one of them."""
    lossy = [epoch for epoch in census.epochs if census.lost(epoch) > 0 and _is_a_pass(epoch)]
    lossy = [epoch for epoch in lossy if not _is_known(census, epoch, known)]
    if lossy and (late := {begun.epoch for begun in late_beginnings(census.view)}):
        lossy = [epoch for epoch in lossy if epoch.epoch not in late]
    if not lossy:
        return None
    never = census.never() if len(lossy) == len(census.epochs) else np.zeros(0, np.int64)
    log_chance = _log_chance_of_never(census, lossy, never)
    undeclared = shape.drop_remainder is False
    unlikely = log_chance < math.log(UNLIKELY if undeclared else PLAUSIBLE)
    unlikely = unlikely and not all(ends_early(census.view, epoch.rows) for epoch in lossy)
    # What an epoch leaves over each epoch does, unless batches go on from one to the next.
    some_are_whole = any(census.lost(epoch) <= 0 for epoch in census.epochs)
    for tail in _across_epochs(census, shape) if some_are_whole else tails(shape):
        epochs = [epoch for epoch in lossy if _fits(census, shape, tail, epoch)]
        if epochs == census.epochs[-1:] and _is_early_stop(census, shape, tail):
            continue
        if epochs and (not unlikely or _is_a_tail(census, shape, tail, never)):
            return Loss(tail, epochs, never, is_impossible(log_chance))
    return None


def _is_a_pass(epoch: EpochCount) -> bool:
    """Tell whether an epoch was to deliver each record once: slips aside, none comes twice."""
    return epoch.distinct > 0 and epoch.extra <= SLIPS * len(epoch.rows)


def _is_known(census: Census, epoch: EpochCount, known: Known) -> bool:
    if known.missing is None:
        return False
    codes = census.known_codes(epoch.missing)
    return len(codes) > 0 and bool(contains(known.missing, codes).all())


def _log_chance_of_never(census: Census, lossy: list[EpochCount], never: Integers) -> float:
    """Give the logarithm of the chance that a remainder leaves out the same records every time."""
    if len(lossy) < 2 or not len(never):  # noqa: PLR2004
        return 0.0
    if census.view.declared("shuffle") is False or _is_in_source_order(census, lossy[0]):
        return -math.inf
    rows = {epoch.epoch: epoch.rows for epoch in census.epochs}
    if have_one_order(census.view, rows, ranks_as_deliverers(census.view)):
        return 0.0  # that one order comes again is another fault
    each = sum(float(np.log(census.lost(epoch) / census.size)) for epoch in lossy)
    return log_choose(census.size, len(never)) + len(never) * each


def _across_epochs(census: Census, shape: Shape) -> list[Tail]:
    """Give the remainder of all epochs together, where batches go on from one to the next."""
    if not shape.batch_size or len(census.epochs) < 2 or shape.ranks > 1:  # noqa: PLR2004
        return []
    if any(census.lost(epoch) for epoch in census.epochs[:-1]):
        return []
    cause = "Batches go on from epoch to epoch, and the last one of all is dropped."
    left = len(census.epochs) * shape.size % shape.batch_size
    return [Tail("batch across epochs", left, cause)]


def _fits(census: Census, shape: Shape, tail: Tail, epoch: EpochCount) -> bool:
    """Tell whether an epoch lost its records in this way."""
    if tail.lost != census.lost(epoch) or (
        not tail.parts and lacks_before_end(census.view, epoch.rows)
    ):
        return False
    mine = census.view.take(epoch.rows)
    if tail.explanation.startswith("batches") or tail.explanation == "batch":
        even = np.unique(mine.rank, return_counts=True)[1] % (shape.batch_size or 1)
        if even.any():
            return False
    if tail.explanation == "ranks" and len(set(np.unique(mine.rank, return_counts=True)[1])) > 1:
        return False
    if tail.explanation.endswith("workers") and not _is_deal(census, epoch, tail):
        return False
    if census.view.declared("shuffle") is False or _is_in_source_order(census, epoch):
        return _is_a_tail(census, shape, tail, epoch.missing)
    return True


def _is_early_stop(census: Census, shape: Shape, tail: Tail) -> bool:
    """Tell whether the last epoch of training was merely left a few batches before its end."""
    view, last = census.view, census.epochs[-1]
    if view.declared("purpose") == "eval" or tail.lost <= shape.loss_of_one_batcher:
        return False
    if len(census.epochs) > 1 or is_beginning_of_baseline(view):
        return True
    whole = _whole_epoch(census)
    if tail.explanation == "ranks" and whole is not None:
        return False
    if view.declared("shuffle") is False and census.source is not None:
        dropped = tail.explanation.endswith("workers") and shape.drop_remainder is not False
        return _is_a_beginning(census, last, in_turn=not dropped)
    if whole is not None:
        records = view.record.values[last.rows]
        return np.array_equal(records, whole[: len(records)])
    raise CannotTell("a further epoch, for this one may have been left before its end")


def _is_a_beginning(census: Census, epoch: EpochCount, *, in_turn: bool) -> bool:
    """Tell whether an unshuffled epoch begins the source, or the shares of ranks or workers."""
    keys, mine = epoch.keys, census.view.take(epoch.rows)
    if in_turn and mine.has("worker"):
        parts = deliverers_of(mine).split(mine, mine.delivery_order())
        return all(ascends(keys[rows]) for _, rows in parts)
    if census.view.ranks == 1:
        return np.array_equal(keys, np.arange(len(keys)))
    return _is_in_source_order(census, epoch)


def _is_in_source_order(census: Census, epoch: EpochCount) -> bool:
    """Tell whether each rank delivers an epoch in the source's order, where that is known."""
    if census.source is None or census.view.declared("shuffle"):
        return False
    keys, mine = epoch.keys, census.view.take(epoch.rows)
    return all(bool((np.diff(keys[rows]) > 0).all()) for _, rows in mine.by_rank())


def _whole_epoch(census: Census) -> Integers | None:
    """Give the baseline's records of the last epoch, where it delivered more of them."""
    baseline, last = census.view.baseline, census.epochs[-1]
    if baseline is None:
        return None
    records = baseline.record.values[baseline.epoch == last.epoch]
    return records if len(distinct(records)) > last.distinct else None


def _is_deal(census: Census, epoch: EpochCount, tail: Tail) -> bool:
    """Tell whether workers have even shares, or such as give each a remainder of its own."""
    if tail.explanation == "workers":
        return _is_even_deal(census.view.take(epoch.rows))
    return _is_dealt_to_workers(census, epoch)


def _is_even_deal(view: StreamView) -> bool:
    if not view.has("worker"):
        return False
    return len(np.unique(np.bincount(deliverers_of(view).of_row))) == 1


def _is_dealt_to_workers(census: Census, epoch: EpochCount) -> bool:
    """Tell whether each worker has every n-th record or a slice, where that can be seen."""
    view = census.view.take(epoch.rows)
    if not view.has("worker") or view.ranks > 1 or census.source is None:
        return True
    if view.declared("shuffle") is not False:
        return True
    deliverers, keys = deliverers_of(view), epoch.keys
    shares = [keys[deliverers.of_row == worker] for worker in range(len(deliverers))]
    slices = sorted((int(share.min()), int(share.max())) for share in shares if len(share))
    strided = all(len(distinct(share % len(shares))) <= 1 for share in shares)
    return strided or all(one[1] < other[0] for one, other in itertools.pairwise(slices))


def _is_a_tail(census: Census, shape: Shape, tail: Tail, missing: Integers) -> bool:
    """Tell whether records are what the tail loses without a shuffle, as far as this is known."""
    if census.source is None:
        if census.view.declared("shuffle") is not False:
            return False
        # What an unshuffled run drops, it drops in each epoch.
        return tail.explanation == "batch across epochs" or bool(
            np.isin(missing, census.never()).all()
        )
    return any(bool(np.isin(missing, lost).all()) for lost in fixed_positions(shape, tail))


def find_padding(census: Census, shape: Shape) -> tuple[str, list[EpochCount]] | None:
    """Find epochs that deliver everything, and fill up with records that came already."""
    filled: list[EpochCount] = []
    what = ""
    lengths = lengths_of_padding(shape)
    for epoch in census.epochs:
        if census.lost(epoch) or epoch.extra not in lengths or not epoch.extra:
            continue
        repeats = places_of_repeats(epoch.keys)
        if len(repeats) < shape.size and repeats.min() >= len(epoch.rows) - _last(shape):
            filled.append(epoch)
            what = lengths[epoch.extra]
    return (what, filled) if filled else None


def places_of_repeats(keys: Integers) -> Integers:
    """Give the places of rows whose record came before."""
    again = np.ones(len(keys), dtype=np.bool_)
    again[np.unique(keys, return_index=True)[1]] = False
    return np.flatnonzero(again)


def _last(shape: Shape) -> int:
    return (shape.batch_size or 1) * shape.ranks
