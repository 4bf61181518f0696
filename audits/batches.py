"""What a batch is, where labels are only labels.

A batch of a rank begins where the label changes, and at an epoch's first row, unless labels
count on over a batch that spans two epochs. So they do where the label is the same on both
sides, and greater than 0, or where all rows of label 0 have room in one batch: a run that goes
on with another one in the middle of an epoch counts from 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.manifest.tables import count_in_groups

if TYPE_CHECKING:
    from collections.abc import Callable

    from detloader.audits.columns import Flags, Integers
    from detloader.audits.view import StreamView

__all__ = ["batch_spans", "batch_starts", "global_batches", "global_starts", "place_in_epoch"]


def batch_starts(view: StreamView) -> Flags:
    """Tell row by row whether a batch of its rank begins there; shape (rows,)."""
    if view.is_delivery_order:
        return _starts(view, view.compared["batch"].values, view.epoch, view.rank)
    order = view.delivery_order()
    placed = np.empty(view.rows, dtype=np.bool_)
    placed[order] = _starts(
        view, view.compared["batch"].values[order], view.epoch[order], view.rank[order]
    )
    return placed


def _starts(view: StreamView, label: Integers, epoch: Integers, rank: Integers) -> Flags:
    """Tell where batches begin, of some rows of a view in delivery order."""
    starts = np.ones(len(label), dtype=np.bool_)
    same = (label[1:] == label[:-1]) & (rank[1:] == rank[:-1])
    continues = same & ((epoch[1:] == epoch[:-1]) | (label[1:] > 0))
    if not np.array_equal(same, continues) and view.source.label_0_is_one_batch:
        continues = same
    starts[1:] = ~continues
    return starts


def batch_spans(view: StreamView, order: Integers) -> tuple[Integers, Integers]:
    """Give the first and the last row of each row's batch, rows counted in `order`.

    Args:
        view: a view with batches.
        order: shape (rows,), int64; rows of the view, batch by batch.
    """
    first = np.flatnonzero(batch_starts(view)[order])
    lengths = np.diff(np.append(first, view.rows))
    return np.repeat(first, lengths), np.repeat(first + lengths, lengths)


def global_batches(view: StreamView) -> Integers:
    """Number the global batches, over all ranks; shape (rows,), int64.

    Without batches, the rows of equal place in their epoch make one.
    """
    if "batch" not in view.compared:
        return _number(view.epoch, place_in_epoch(view))
    if view.ranks > 1:
        return _number(view.epoch, view.compared["batch"].values)
    if view.is_delivery_order:
        return _number(view.epoch, np.cumsum(batch_starts(view)))
    order = view.delivery_order()
    label = np.empty(view.rows, np.int64)
    label[order] = np.cumsum(batch_starts(view)[order])
    return _number(view.epoch, label)


def global_starts(view: StreamView) -> Callable[[slice], Flags]:
    """Tell of rows, some at a time, where global batches begin, as one does at the first of them.

    Args:
        view: a view with batches, whose global batches come one after the other.
    """
    label, one_rank = view.compared["batch"].values, view.ranks == 1

    def starts(rows: slice) -> Flags:
        if one_rank:
            return _starts(view, label[rows], view.epoch[rows], view.rank[rows])
        begins = np.ones(len(label[rows]), dtype=np.bool_)
        begins[1:] = (np.diff(label[rows]) != 0) | (np.diff(view.epoch[rows]) != 0)
        return begins

    return starts


def place_in_epoch(view: StreamView) -> Integers:
    """Count the rows of each (rank, epoch) from 0, in delivery order; shape (rows,), int64."""
    order = np.lexsort((view.position, view.epoch, view.rank))
    return count_in_groups(order, view.epoch, view.rank)


def _number(epoch: Integers, label: Integers) -> Integers:
    """Number the distinct pairs, ascending."""
    steps, inner = np.diff(epoch), np.diff(label)
    if ((steps > 0) | ((steps == 0) & (inner >= 0))).all():
        ascending = np.zeros(len(epoch), np.int64)
        ascending[1:] = (steps != 0) | (inner != 0)
        return np.cumsum(ascending)
    order = np.lexsort((label, epoch))
    fresh = np.zeros(len(order), dtype=np.int64)
    fresh[1:] = (np.diff(epoch[order]) != 0) | (np.diff(label[order]) != 0)
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(fresh)
    return number
