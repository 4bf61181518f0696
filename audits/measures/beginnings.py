"""Epochs that are the baseline's without its first records, or without others before its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import contains, distinct

if TYPE_CHECKING:
    from detloader.audits.columns import Flags, Integers
    from detloader.audits.view import StreamView

__all__ = [
    "LateBeginning",
    "ends_early",
    "is_cut_before_end",
    "lacks_before_end",
    "late_beginnings",
]

CERTAIN = 4
"""Rows in a row that must be the baseline's, for an epoch to follow its order."""


@dataclass(frozen=True, eq=False, slots=True)
class LateBeginning:
    """An epoch that is the baseline's from a later record on.

    Attributes:
        epoch: its number.
        skipped: codes of the baseline's records before that, in delivery order, rank by rank.
    """

    epoch: int
    skipped: Integers


def late_beginnings(view: StreamView) -> list[LateBeginning]:
    """Find the epochs in which each rank skips the first records that it has in the baseline.

    What was skipped must not come later in the epoch, or the order was merely turned.
    """
    if view.baseline is None:
        return []
    ours, theirs = _orders(view), _orders(view.baseline)
    late = []
    for epoch, orders in ours.items():
        wanted = theirs.get(epoch, {})
        skipped = [_skipped(wanted.get(rank), came) for rank, came in orders.items()]
        codes = np.concatenate(skipped)
        if all(map(len, skipped)) and not any(contains(codes, c).any() for c in orders.values()):
            late.append(LateBeginning(epoch, codes))
    return late


def _orders(view: StreamView) -> dict[int, dict[int, Integers]]:
    """Give the records of each epoch and rank, in delivery order."""
    record = view.record.values
    if view.is_delivery_order:
        return {epoch: {0: record[rows]} for epoch, rows in view.epochs.items()}
    orders: dict[int, dict[int, Integers]] = {int(epoch): {} for epoch in distinct(view.epoch)}
    for rank, rows in view.by_rank():
        epochs = view.epoch[rows]
        for epoch in distinct(epochs).tolist():
            orders[epoch][rank] = record[rows[epochs == epoch]]
    return orders


def _skipped(wanted: Integers | None, came: Integers) -> Integers:
    """Give the records before the one with which an order is entered; none where it is another."""
    if wanted is None or not len(wanted) or wanted[0] == came[0]:
        return came[:0]
    places = np.flatnonzero(wanted == came[0])
    if not len(places):
        return came[:0]
    first = int(places[0])
    common = min(len(came), len(wanted) - first)
    if common < CERTAIN or not all(
        np.array_equal(wanted[first:][:rows], came[:rows]) for rows in (CERTAIN, common)
    ):
        return came[:0]
    return wanted[:first]


def is_cut_before_end(view: StreamView, rows: Integers) -> bool:
    """Tell whether an epoch is the baseline's, without records that stand before others there.

    Args:
        view: the run; one without a baseline is not.
        rows: shape (rows,), int64; the rows of one epoch.
    """
    return any(not kept[: kept.sum()].all() for kept in _kept(view, rows))


def ends_early(view: StreamView, rows: Integers) -> bool:
    """Tell whether an epoch is the baseline's, without the last records of a rank, or of more.

    Args:
        view: the run; one without a baseline is not.
        rows: shape (rows,), int64; the rows of one epoch.
    """
    parts = _kept(view, rows)
    return bool(parts) and all(kept[: kept.sum()].all() for kept in parts)


def _kept(view: StreamView, rows: Integers) -> list[Flags]:
    """Tell which records of an epoch of the baseline came, rank by rank.

    Empty where they came in another order, or others came as well.
    """
    if view.baseline is None or not len(rows):
        return []
    mine, baseline = view.take(rows), view.baseline
    whole = baseline.take(baseline.epochs.get(int(mine.epoch[0]), slice(0)))
    came, wanted = (
        {rank: of.record.values[places] for rank, places in of.by_rank()} for of in (mine, whole)
    )
    if came.keys() != wanted.keys():
        return []
    kept = {rank: contains(came[rank], wanted[rank]) for rank in came}
    alike = all(np.array_equal(wanted[rank][kept[rank]], came[rank]) for rank in came)
    return [*kept.values()] if alike else []


def lacks_before_end(view: StreamView, rows: Integers) -> bool:
    """Tell whether an epoch lacks records before others: by its baseline, or by batch labels.

    Args:
        view: the run.
        rows: shape (rows,), int64; the rows of one epoch.
    """
    return is_cut_before_end(view, rows) or _skips_a_batch(view, rows)


def _skips_a_batch(view: StreamView, rows: Integers) -> bool:
    """Tell whether a rank leaves out a batch label between others."""
    if "batch" not in view.compared:
        return False
    batch, mine = view.compared["batch"].values[rows], view.take(rows)
    steps = (np.diff(distinct(batch[places])) for _, places in mine.by_rank())
    return any(len(each) > 1 and each.min() < each.max() for each in steps)
