"""What a run may lose without a fault: dropped batches, early stops, chance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.batches import global_batches
from detloader.audits.integers import tally
from detloader.audits.measures.statistics import is_impossible, log_choose
from detloader.audits.rule import CannotTell

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.view import StreamView

__all__ = [
    "DROPS_UNEVEN",
    "SAMPLES",
    "ends_in_a_part",
    "full_epochs",
    "is_beginning_of_baseline",
    "is_chance",
    "loss_by_batches",
    "observed_batch_size",
    "require_all_ranks",
]

DROPS_UNEVEN = "drop_uneven_ranks"
"""Entry of a configuration: whether what the deal to ranks leaves over is dropped on purpose."""

SAMPLES = "num_samples, for each epoch leaves out others"
"""What a rule lacks where epochs may be meant to be samples of the source."""

FEW = 0.05
"""Share of the source up to which records that never come may have been missed, where weights
are undeclared: more may have no weight."""

OFTEN = 20
"""How often records come, on average, for their shares to tell equal weights from others."""

DEVIATIONS = 4
"""Standard deviations from equal shares within which weights are taken for equal."""


def observed_batch_size(view: StreamView) -> int | None:
    """Give the declared rows of a batch, or those of the largest; None without batches."""
    declared: int | None = view.declared("batch_size")
    if declared is not None or not view.has("batch") or not view.rows:
        return declared
    return int(tally(global_batches(view))[1].max())


def loss_by_batches(view: StreamView) -> int | None:
    """Give the most records that dropping partial batches can lose in one epoch.

    Each worker of each rank may batch for itself, and ranks may be evened out. What is
    undeclared may have been done; None where the size of a batch is unknown.
    """
    if view.declared("drop_remainder") is False or _has_partial_batch(view):
        return view.ranks - 1 if view.config(DROPS_UNEVEN) is True else 0
    size = observed_batch_size(view)
    if size is None:
        return None
    batchers = view.ranks * max(view.declared("workers") or 1, 1)
    return batchers * (size - 1) + view.ranks - 1


def _has_partial_batch(view: StreamView) -> bool:
    """Tell whether some batch is not full, so that partial batches are not dropped."""
    if not view.has("batch") or not view.rows:
        return False
    rows = tally(global_batches(view))[1]
    return int(rows.min()) < int(rows.max())


def ends_in_a_part(view: StreamView) -> bool:
    """Tell whether the last batch alone is not full: who stops early stops behind a full one."""
    if view.ranks > 1 or view.declared("workers") not in {0, 1} or not view.has("batch"):
        return False
    batches = global_batches(view)
    rows = tally(batches)[1]
    return len(rows) > 1 and int(rows.min()) < int(rows.max()) and (rows[:-1] == rows[0]).all()


def require_all_ranks(view: StreamView) -> None:
    """Make sure that no rank's rows are absent, as far as this is known.

    Raises:
        CannotTell: the run, or else its baseline, tells of more ranks than delivered rows.
    """
    told = view.declared("world_size") or (view.baseline.ranks if view.baseline else 1)
    if told > view.ranks:
        raise CannotTell(f"all {told} ranks")


def full_epochs(view: StreamView) -> int:
    """Count the epochs that were not cut short; passes, where the run has no epochs."""
    if not view.has("epoch"):
        counts = tally(view.asked)[1]
        return min(int(counts.min()), 2) if len(counts) else 0
    rows = tally(view.epoch)[1]
    return len(rows) - int(len(rows) > 1 and rows[-1] < rows[0])


def is_beginning_of_baseline(view: StreamView) -> bool:
    """Tell whether each rank delivers the beginning of what it delivers in the baseline."""
    baseline = view.baseline
    if baseline is None or baseline.rows <= view.rows:
        return False
    theirs = dict(baseline.by_rank())
    return all(
        rank in theirs
        and np.array_equal(
            baseline.record.values[theirs[rank]][: len(rows)], view.record.values[rows]
        )
        and np.array_equal(baseline.epoch[theirs[rank]][: len(rows)], view.epoch[rows])
        for rank, rows in view.by_rank()
    )


def is_chance(view: StreamView, size: int, codes: Integers | None, lost: int) -> bool:
    """Tell whether draws with replacement may have left out so many records by chance.

    The records should have had the share that declared weights, or else the baseline, give
    them; where neither does, few never come, and all others come equally often, an equal one.
    That it is just these that never came is one of many ways to lose so many.

    Args:
        view: a run that draws with replacement.
        size: records in the source.
        codes: shape (lost,), int64; the records that never came, where they are known.
        lost: how many they are.

    Raises:
        CannotTell: it is not known how often they should have come.
    """
    if view.has("shard"):
        raise CannotTell("whether records or whole shards are drawn")
    ways, undeclared = log_choose(size, lost), view.declared("weights") is None
    if undeclared and view.baseline is None and lost <= FEW * size and _are_drawn_alike(view):
        return not is_impossible(view.rows * math.log1p(-lost / size) + ways)
    if codes is None or (undeclared and view.baseline is None):
        raise CannotTell("weights, by record")
    if undeclared:
        return not is_impossible(_log_chance_beside_baseline(view, codes) + ways)
    share = min(_declared_share(view, codes), 1 - 1e-12)
    return not is_impossible(view.rows * math.log1p(-share) + ways)


def _are_drawn_alike(view: StreamView) -> bool:
    """Tell whether the records that come do so as often as draws with equal weights have them."""
    counts = tally(view.asked)[1]
    mean, freedom = counts.mean(), len(counts) - 1
    spread = float(((counts - mean) ** 2).sum() / mean)  # chi-squared
    return mean >= OFTEN and abs(spread - freedom) < DEVIATIONS * math.sqrt(2 * freedom)


def _declared_share(view: StreamView, codes: Integers) -> float:
    weights: list[float] | dict[str, float] = view.declared("weights")
    names = view.identify(codes)
    if isinstance(weights, dict):
        return sum(weights.get(str(name), 0.0) for name in names) / (sum(weights.values()) or 1)
    placed = [name for name in names if isinstance(name, int) and 0 <= name < len(weights)]
    return sum(weights[name] for name in placed) / (sum(weights) or 1)


def _log_chance_beside_baseline(view: StreamView, codes: Integers) -> float:
    """Give the logarithm of the chance that all draws of these records fall to the baseline."""
    assert view.baseline is not None
    drawn = int(np.isin(view.baseline.record.values, codes).sum())
    both = view.baseline.rows + view.rows
    return log_choose(view.baseline.rows, drawn) - log_choose(both, drawn)
