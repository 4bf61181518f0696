"""Where a run was taken up again, and where it meant to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.batches import batch_starts
from detloader.audits.integers import tally
from detloader.audits.measures.conditions import is_told_alone
from detloader.audits.measures.marks import UNMARKED
from detloader.audits.rule import CannotTell

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.view import StreamView

__all__ = [
    "CERTAIN",
    "first_place",
    "is_joined",
    "labelled_position",
    "places_of_records",
    "restarts_of",
    "resume_position",
    "told_position",
]

CERTAIN = 4
"""Rows of a rank by which it is known where in an uninterrupted run it begins."""

TRIED = 1000
"""Places of its first record at which it may begin that are tried."""


def _marked_rows(view: StreamView) -> Integers:
    """Give the rows at which the run was taken up again, as the column `resumed` says.

    Row 0 is among them where the run holds nothing from before.
    """
    if not view.has("resumed"):
        return np.zeros(0, np.int64)
    column = view.column("resumed")
    state = column.values.astype(np.int64)
    if column.vocabulary is not None:
        names = column.vocabulary.to_pylist()
        numbers = [0 if name in UNMARKED else place for place, name in enumerate(names, start=1)]
        state = np.array([*numbers, 0])[state]
    state[column.missing()] = 0
    changes = np.flatnonzero(np.diff(state, prepend=0))
    restarts: Integers = changes[state[changes] != 0]
    return restarts


def told_position(whole: StreamView, resumed: StreamView) -> int | None:
    """Give the row of the uninterrupted run at which the other goes on, as far as it says.

    Where it does not declare it, but marks its first row, labels of batches may tell.

    Args:
        whole: rows of one rank of the uninterrupted run, in delivery order.
        resumed: the same rank of the resumed run.
    """
    position = resume_position(whole, resumed)
    if position is None and _begins_marked(resumed):
        return labelled_position(whole, resumed)
    return position


def _begins_marked(view: StreamView) -> bool:
    return 0 in _marked_rows(view)[:1]


def resume_position(whole: StreamView, resumed: StreamView) -> int | None:
    """Give the row of the uninterrupted run at which the other declares to go on.

    Args:
        whole: rows of one rank of the uninterrupted run, in delivery order.
        resumed: the same rank of the resumed run; what it declares counts what one rank delivers.
    """
    resume = resumed.declared("resume")
    if resume is None:
        return None
    if resume.unit == "epochs":
        epochs = np.unique(whole.epoch)[resume.position :]
        return _first_row(whole, int(epochs[0])) if len(epochs) else whole.rows
    start = _first_row(whole, resume.epoch) if isinstance(resume.epoch, int) else 0
    if resume.unit == "batches" or (resume.unit == "elements" and "batch" in whole.compared):
        return start + _rows_of_batches(whole, resumed, start, resume.position)
    return start + int(resume.position)


def _first_row(whole: StreamView, epoch: int) -> int:
    later = np.flatnonzero(whole.epoch >= epoch)
    return int(later[0]) if len(later) else whole.rows


def _rows_of_batches(whole: StreamView, resumed: StreamView, start: int, batches: int) -> int:
    size = whole.declared("batch_size") or resumed.declared("batch_size")
    if "batch" in whole.compared and not _span_epochs(whole, size):
        starts = np.flatnonzero(batch_starts(whole)[start:])
        return int(starts[batches]) if batches < len(starts) else whole.rows - start
    return int(batches * (size or 1))


def _span_epochs(whole: StreamView, size: int | None) -> bool:
    """Tell whether a batch may have a whole epoch and more: labels do not tell where it ends."""
    if size is None or int(tally(whole.epoch)[1][:-1].min(initial=size)) >= size:
        return False
    labels, ends = whole.compared["batch"].values, np.flatnonzero(np.diff(whole.epoch))
    return bool((labels[ends] == labels[ends + 1]).any())


def is_joined(whole: StreamView, resumed: StreamView, position: int) -> bool:
    """Tell whether a resumed run has the rows from before its restart, too.

    Args:
        whole: rows of one rank of the uninterrupted run, in delivery order.
        resumed: the same rank of the resumed run.
        position: the row of the uninterrupted run that it declares to go on with.
    """
    if not 0 < position < resumed.rows:
        return False
    marked = _marked_rows(resumed)
    if len(marked):
        return int(marked[0]) > 0
    if is_told_alone(resumed.stream):
        return False
    if _is_like(whole, 0, resumed, min(CERTAIN, position)):
        return True
    # More than can come after it was no part, unless that began earlier than it should.
    return resumed.rows > whole.rows - position and first_place(whole, resumed) is None


def first_place(whole: StreamView, resumed: StreamView) -> int | None:
    """Give the row of a run that the first rows of another are; None where they are none of it."""
    places = places_of_records(whole, resumed)
    return next((place for place in places if _is_like(whole, place, resumed, CERTAIN)), None)


def places_of_records(whole: StreamView, resumed: StreamView) -> list[int]:
    """Give the rows of a run from which on it has the first records of another, in any epoch."""
    records, begun = whole.record.values, resumed.record.values[:CERTAIN]
    places: list[int] = np.flatnonzero(records == begun[0])[:TRIED].tolist()
    return [
        place
        for place in places
        if np.array_equal(records[place : place + len(begun)], begun[: len(records) - place])
    ]


def _is_like(whole: StreamView, place: int, resumed: StreamView, rows: int) -> bool:
    """Tell whether a run begins with the rows that another one has from a place on."""
    return all(
        np.array_equal(left[place : place + rows], right[:rows])
        for left, right in (
            (whole.record.values, resumed.record.values),
            (whole.epoch, resumed.epoch),
        )
    )


def restarts_of(whole: StreamView, resumed: StreamView, position: int | None) -> Integers:
    """Give the rows at which a run was taken up again; row 0 where it holds nothing from before.

    Args:
        whole: rows of one rank of the uninterrupted run, in delivery order.
        resumed: the same rank of the resumed run.
        position: the row of the uninterrupted run that it declares to go on with.

    Raises:
        CannotTell: neither the rows nor what was declared tell it.
    """
    restarts = _marked_rows(resumed)
    if len(restarts):
        if restarts[0] == 0 and position is None:
            raise CannotTell("resume")
        return restarts
    if position is None and not resumed.has("resumed"):
        raise CannotTell("resume, or resumed")
    if position is None:
        return restarts
    return np.array([position if is_joined(whole, resumed, position) else 0])


def labelled_position(whole: StreamView, later: StreamView) -> int | None:
    """Give the row of a run at which another one begins that does not declare a restart.

    Labels tell it: those of its first batch come later in their epoch than that begins in the
    first run, and its further epochs begin with the same labels. There is one at least, unless
    the first row is marked: batches may be numbered from 0 in one run, and from 1 in the other.

    Args:
        whole: rows of one rank, in delivery order.
        later: the same rank of the run that may begin later.
    """
    if "batch" not in whole.compared or "batch" not in later.compared or not later.rows:
        return None
    if whole.declared("batch_size") != later.declared("batch_size"):
        return None  # a label stands for other rows
    wanted, came = _first_labels(whole), _first_labels(later)
    epoch = int(later.epoch[0])
    further = [number for number in came.keys() & wanted.keys() if number != epoch]
    if not further and not _begins_marked(later):
        return None
    if epoch not in wanted or any(came[n] != wanted[n] for n in further):
        return None
    batch = whole.compared["batch"].values
    rows = np.flatnonzero((whole.epoch == epoch) & (batch == came[epoch]))
    return int(rows[0]) if len(rows) and came[epoch] > wanted[epoch] else None


def _first_labels(view: StreamView) -> dict[int, int]:
    """Give the label of the first batch of each epoch."""
    epochs, rows = np.unique(view.epoch, return_index=True)
    labels = view.compared["batch"].values[rows]
    return dict(zip(epochs.tolist(), labels.tolist(), strict=True))
