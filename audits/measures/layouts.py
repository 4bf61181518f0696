"""Draws laid out as streams: of each epoch, of all epochs side by side, of the whole run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.batches import global_batches
from detloader.audits.integers import are_distinct, distinct
from detloader.audits.measures.draws import Sequence
from detloader.audits.rule import CannotTell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from detloader.audits.columns import Column, Integers
    from detloader.audits.measures.deliverers import Deliverers
    from detloader.audits.view import StreamView

__all__ = ["layouts_of_streams"]

LONGEST = 65_536
"""Draws of a stream, in one epoch, that are laid out."""


def layouts_of_streams(
    view: StreamView, name: str, deliverers: Deliverers
) -> Iterator[tuple[list[int], dict[int, Sequence]]]:
    """Give epochs and the streams in them: of each epoch; of all, side by side; of the run.

    Rows without a draw are left out, for they do not move a stream on.
    """
    column = view.compared[name]
    whole = Sequence(column.values, view.record.values, _groups(view, name), ~column.missing())
    by_epoch = {epoch: _streams(view, deliverers, whole, rows) for epoch, rows in view.by_epoch()}
    epochs = list(by_epoch)
    for epoch, streams in by_epoch.items():
        yield [epoch], {number: whole.take(rows) for number, rows in streams.items()}
    if len(epochs) > 1:
        yield epochs, _side_by_side(whole, list(by_epoch.values()))
        yield epochs, _end_to_end(whole, list(by_epoch.values()))


def _streams(
    view: StreamView, deliverers: Deliverers, whole: Sequence, rows: Integers
) -> dict[int, Integers]:
    drawn = rows if whole.valid.all() else rows[whole.valid[rows]]
    return {number: mine[:LONGEST] for number, mine in deliverers.split(view, drawn)}


def _side_by_side(whole: Sequence, epochs: list[dict[int, Integers]]) -> dict[int, Sequence]:
    """Let each epoch of all streams begin at the same place; gaps are no draw."""
    lengths = [max(map(len, streams.values()), default=0) for streams in epochs]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    laid: dict[int, Sequence] = {}
    for number in {number for streams in epochs for number in streams}:
        rows = np.full(int(starts[-1]), -1, np.int64)
        for start, streams in zip(starts.tolist(), epochs, strict=False):
            mine = streams.get(number, rows[:0])
            rows[start : start + len(mine)] = mine
        stream = whole.take(rows)
        laid[number] = Sequence(stream.draws, stream.records, stream.groups, rows >= 0)
    return laid


def _end_to_end(whole: Sequence, epochs: list[dict[int, Integers]]) -> dict[int, Sequence]:
    """Let each stream go on from epoch to epoch."""
    numbers = {number for streams in epochs for number in streams}
    return {
        number: whole.take(np.concatenate([s[number] for s in epochs if number in s]))
        for number in numbers
    }


def _groups(view: StreamView, draws: str) -> Integers:
    """Number the groups that share a draw on purpose: as declared, or whole global batches."""
    name = view.config("shared_draws")
    if isinstance(name, str):
        view.require(name)
        numbers: Integers = np.unique(view.column(name).values, return_inverse=True)[1]
        return numbers
    if "batch" in view.compared:
        batch = global_batches(view)
        if _is_one_for_each(batch, view.compared[draws]):
            _require_rows_of_one_rank(view, batch)
            return batch
    return np.full(view.rows, -1, np.int64)


def _require_rows_of_one_rank(view: StreamView, batch: Integers) -> None:
    """Make sure that a draw of a batch is not merely one that several ranks have in common."""
    ranks = distinct(view.rank)
    if are_distinct(batch * len(ranks) + np.searchsorted(ranks, view.rank)):
        raise CannotTell("shared_draws in config, for a batch of each rank is one row")


def _is_one_for_each(batch: Integers, draws: Column) -> bool:
    """Tell whether all rows of each batch, of several rows, have one draw."""
    values = draws.values
    if (np.diff(batch) < 0).any():
        order = np.argsort(batch, kind="stable")
        batch, values = batch[order], values[order]
    same_batch = batch[1:] == batch[:-1]
    return bool(same_batch.any() and (values[1:] == values[:-1])[same_batch].all())
