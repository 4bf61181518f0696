"""Judging passes: which contiguous parts explain them, and how sure that is.

Four forms are told apart: parts that keep their order, merged; the source's own
order with its tail missing; a shuffle that never has the tail; and draws that
never hit it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.measures.conditions import topology_differences
from detloader.audits.measures.losses import observed_batch_size
from detloader.audits.measures.remainders import shape_of
from detloader.audits.measures.shards import has_shards
from detloader.audits.measures.source import is_source_order_of_baseline
from detloader.audits.measures.statistics import is_impossible
from detloader.audits.measures.tails import tails
from detloader.audits.rule import CannotTell
from detloader.audits.turns import slices_in_turn
from detloader.findings import Severity

if TYPE_CHECKING:
    from detloader.audits.measures.partitions import Passes
    from detloader.audits.measures.source import Source
    from detloader.audits.view import StreamView

__all__ = ["Parts", "explain_passes"]

MOST_WORKERS = 17
"""Worker counts below this are tried where none is declared."""

LIKELY = 1e-3
"""Chance of the order, without a dropped tail, at which the declared worker count is believed."""


@dataclass(frozen=True, eq=False, slots=True)
class Parts:
    """Part counts that explain passes, and how sure that is.

    Attributes:
        counts: every worker count that fits, ascending.
        kind: "merge", "tail", "shuffle" or "draws".
        severity: of the finding.
        undecidable: whether something else explains the passes as well.
        log_chance: logarithm of the chance that a fair order looks like this, where one is meant.
    """

    counts: list[int]
    kind: str
    severity: Severity = Severity.FAIL
    undecidable: bool = False
    log_chance: float | None = None


def explain_passes(view: StreamView, source: Source, passes: Passes) -> Parts | None:
    """Give the part counts that explain passes; None where none does, or something else does.

    Raises:
        CannotTell: chance, or an early stop, may have done the same.
    """
    if not passes.finite:
        return _explain_draws(view, source, passes) if passes.tail else None
    if not passes.tail:
        return _explain_merge_of_all(view, source, passes)
    if passes.in_source_order:
        return _explain_tail(view, passes)
    counts = passes.merge_counts()
    if _prove_something(view, passes, counts):
        return _explain_merge(view, passes, counts)
    return _explain_shuffle(view, passes)


def _prove_something(view: StreamView, passes: Passes, counts: list[int]) -> bool:
    """Tell whether parts that fit are no accident of how a few workers take turns.

    Any order is a merge of parts of one record; and where batches come from workers in turn,
    short parts fit in another number than there are workers.
    """
    workers = _workers(view)
    if not counts or workers in counts:
        return bool(counts) and (counts != [passes.kept] or not _is_shuffled(view))
    if counts == [passes.kept] or (workers or 0) > 1:
        return False
    return workers is not None or not _is_lost_by_batches(view, passes)


def _is_lost_by_batches(view: StreamView, passes: Passes) -> bool:
    """Tell whether batches formed in some number of workers lose as many records."""
    shape = shape_of(view, passes.size)
    return shape.drop_remainder is not False and any(
        tail.explanation == "batches of workers" and tail.lost == passes.tail
        for workers in range(2, MOST_WORKERS)
        for tail in tails(replace(shape, workers=workers))
    )


def _explain_merge(view: StreamView, passes: Passes, counts: list[int]) -> Parts | None:
    """Judge a merge of parts in order, the tail dropped."""
    fewest = counts[0]
    tested = len(passes.tail_counts())
    log_chance = passes.log_chance_of_merge(fewest)
    if _is_shuffled(view) or _may_draw(view):
        # Weights may leave the tail out: then the order alone has to tell.
        log_chance += 0.0 if _may_draw(view) else passes.log_chance_of_tail()
        if not is_impossible(log_chance, tested):
            raise CannotTell("more rows: a shuffle may do the same by chance")
        return Parts(counts, "merge", log_chance=log_chance)
    if fewest == passes.kept:  # parts of one record: any order fits
        if _workers(view) not in counts or _is_whole_batches(view, passes):
            return None
        severity = Severity.WARN if view.baseline is None else Severity.FAIL
        return Parts(counts, "merge", severity, undecidable=True)
    if _is_whole_batches(view, passes) and not is_impossible(log_chance, tested):
        return Parts(counts, "merge", Severity.WARN, undecidable=True)
    return Parts(counts, "merge")


def _explain_tail(view: StreamView, passes: Passes) -> Parts | None:
    """Judge the source order with its tail missing, which one worker explains as well."""
    counts = passes.tail_counts()
    if _workers(view) not in counts or _is_whole_batches(view, passes):
        return None
    if len(passes.orders) == 1 and view.baseline is None:
        raise CannotTell("an order that is not the source's, or at least 2 epochs")
    return Parts(counts, "tail", Severity.WARN, undecidable=True)


def _explain_shuffle(view: StreamView, passes: Passes) -> Parts | None:
    """Judge passes in any order of which each lacks the same tail."""
    counts = passes.tail_counts()
    explained = _is_whole_batches(view, passes) or view.filters
    if not _is_shuffled(view) or _workers(view) not in counts or explained:
        return None
    if view.declared("num_samples") == passes.kept:
        return None
    log_chance = passes.log_chance_of_tail()
    if not is_impossible(log_chance):
        raise CannotTell("more epochs: a shuffle may drop the same records by chance")
    return Parts(counts, "shuffle", log_chance=log_chance)


def _explain_draws(view: StreamView, source: Source, passes: Passes) -> Parts | None:
    """Judge draws that never hit the tail."""
    counts = [count for count in passes.tail_counts() if passes.size // count > 1]
    workers = _workers(view)
    if not counts or view.filters:
        return None
    if workers is not None and workers not in counts:
        return None
    share = _share_of_tail(view, source, passes)
    if share <= 0:
        return None
    if has_shards(view):
        raise CannotTell("whether records or whole shards are drawn")
    log_chance = passes.rows * math.log1p(-share)
    if not is_impossible(log_chance):
        raise CannotTell("more rows: draws may miss these records by chance")
    if workers is None:
        return Parts(counts, "draws", Severity.WARN, undecidable=True, log_chance=log_chance)
    return Parts(counts, "draws", log_chance=log_chance)


def _share_of_tail(view: StreamView, source: Source, passes: Passes) -> float:
    """Give the share of draws that the tail should have: the declared or the equal one."""
    equal = passes.tail / passes.size
    weights = view.declared("weights")
    if isinstance(weights, dict):
        names = source.name(view, np.arange(passes.kept))
        kept = math.fsum(weights.get(str(name), 0.0) for name in names)
        whole = math.fsum(weights.values())
        declared = 1 - kept / whole if whole else equal
    elif weights is not None and len(weights) == passes.size and sum(weights) > 0:
        declared = sum(weights[passes.kept :]) / sum(weights)
    else:
        return equal
    return max(min(equal, declared), 0.0)


def _explain_merge_of_all(view: StreamView, source: Source, passes: Passes) -> Parts | None:
    """Judge a merge of parts that drops nothing: the baseline must be in source order."""
    if passes.in_source_order or not is_source_order_of_baseline(view, source):
        return None
    if view.declared("deterministic") is False or has_shards(view):
        return None
    counts = [count for count in passes.merge_counts() if count < passes.kept]
    workers = _workers(view)
    for parts in [workers, *counts] if workers in counts else counts:
        assert parts is not None
        sure = is_impossible(passes.log_chance_of_places(parts), len(counts))
        likely = parts == workers and passes.log_chance_of_merge(parts) < math.log(LIKELY)
        if (sure or likely) and passes.interleave(parts):
            return Parts(counts, "merge", Severity.NOTE)
    return _explain_turns(view, passes, counts)


def _explain_turns(view: StreamView, passes: Passes, counts: list[int]) -> Parts | None:
    """Judge parts of which each gives as many records in its turn: no other order is that one."""
    assert view.baseline is not None
    if topology_differences(view.baseline.stream, view.stream):
        return None  # which is the cause
    in_turn = {slices_in_turn(order, passes.size) for order in passes.orders}
    parts = in_turn.pop() if len(in_turn) == 1 else None
    log_chance = -len(passes.orders) * math.lgamma(passes.size + 1)
    if parts not in counts or not is_impossible(log_chance):
        return None
    others = [count for count in counts if count != parts]
    return Parts([parts, *others], "merge", Severity.NOTE)


def _may_draw(view: StreamView) -> bool:
    """Tell whether one of the runs draws its records: few draws are an order as well."""
    runs = [view] if view.baseline is None else [view, view.baseline]
    return any(run.declared("replacement") or run.declared("weights") is not None for run in runs)


def _is_shuffled(view: StreamView) -> bool:
    """Tell whether another order than the source's may be meant; undeclared, it may."""
    return view.declared("shuffle") is not False


def _workers(view: StreamView) -> int | None:
    workers: int | None = view.declared("workers")
    return workers


def _is_whole_batches(view: StreamView, passes: Passes) -> bool:
    """Tell whether dropping the last, partial batch explains the tail."""
    if view.declared("drop_remainder") is False:
        return False
    size = observed_batch_size(view)
    if size is None:
        return view.declared("drop_remainder") is True
    return passes.tail == passes.size % size
