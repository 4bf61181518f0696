"""Epochs that deliver fewer records than an epoch is declared to have."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.confirm import show
from detloader.audits.headers import goes_on
from detloader.audits.integers import are_distinct, contains, distinct, lacking
from detloader.audits.measures.aspects import LOST_TAIL
from detloader.audits.measures.beginnings import is_cut_before_end, lacks_before_end
from detloader.audits.measures.conditions import EQUAL_ARGUMENTS
from detloader.audits.measures.dealing import declared_copies
from detloader.audits.measures.losses import SAMPLES, loss_by_batches, require_all_ranks
from detloader.audits.measures.shown import SHOWN, listed, show_records
from detloader.audits.rule import CannotTell, Fault
from detloader.findings import Severity

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.rule import Known
    from detloader.audits.view import StreamView

__all__ = ["check_lengths", "parts_of_deal"]

FEW = 0.05
"""Share of an epoch's rows up to which repeated records may be padding, or substitutes."""

GROWTH = "num_samples, for epochs grow"
"""What a rule lacks where earlier epochs may be meant to be shorter than a whole one."""


@dataclass(frozen=True, eq=False, slots=True)
class _ShortEpoch:
    """An epoch that delivers too few records.

    Attributes:
        epoch: its number.
        count: how many it lacks, and nothing explains.
        expected: how many it should have.
        rows: shape (rows,), int64; its rows.
        codes: codes of records that other epochs deliver and this one does not, ascending;
            none where an epoch is not to deliver each record.
    """

    epoch: int
    count: int
    expected: int
    rows: Integers
    codes: Integers


def check_lengths(view: StreamView, known: Known) -> list[Fault]:
    """Judge whether epochs have as many records as is declared; the last may be cut short.

    What an unshuffled run delivers in no epoch is left to others: it may be a remainder.

    Args:
        view: the run, without padding.
        known: the records whose absence is explained already.

    Raises:
        CannotTell: how many records an epoch has, or whether it may drop some, is undeclared.
    """
    short = _find_short_epochs(view, known)
    if not short:
        return []
    if view.otherwise:
        raise CannotTell(EQUAL_ARGUMENTS)  # one of them may have asked for fewer records
    first, evaluated = short[0], view.declared("purpose") == "eval"
    field = "source_size" if view.declared("num_samples") is None else "num_samples"
    further = len(short) - 1
    more = f", and {further} further {'epoch lacks' if further == 1 else 'epochs lack'} some"
    return [
        Fault(
            severity=Severity.FAIL if evaluated or view.baseline is not None else Severity.WARN,
            message=f"Epoch {first.epoch} lacks {first.count} of the {first.expected} records that "
            f"`{field}` declares for each{_named(view, first)}{more if further else ''}.",
            cause=_cause(view, short),
            evidence=show_records("lacking", view, first.codes)
            | {
                "lacking_count": first.count,
                "expected": first.expected,
                "epochs": [epoch.epoch for epoch in short[:SHOWN]],
                "rows": view.rows,
            },
            confirm=show(view.path, epoch=first.epoch),
        )
    ]


def _named(view: StreamView, short: _ShortEpoch) -> str:
    names = listed(view.identify(short.codes[:SHOWN]), len(short.codes))
    return f" ({names})" if names else ""


def _cause(view: StreamView, epochs: list[_ShortEpoch]) -> str:
    short = epochs[0]
    parts = parts_of_deal(short.expected, short.expected - short.count, view.ranks)
    if view.ranks > 1 and parts > view.ranks:
        return f"The source is divided into {parts} parts, and {view.ranks} ranks deliver one each."
    where = "others in each epoch"
    if len(epochs) == 1:
        where = f"in epoch {short.epoch} alone"
    elif _has_whole_epoch(view, short.expected):
        where = "in some epochs"
    return (
        f"The loader skips or replaces records, {where}, and nothing that was declared accounts "
        "for it."
    )


def parts_of_deal(size: int, delivered: int, ranks: int) -> int:
    """Tell into how many parts records were dealt of which each rank delivers one; 0 for none."""
    parts = max(round(size * ranks / max(delivered, 1)), 1)
    least, most = (ranks * records for records in (size // parts, -(-size // parts)))
    return parts if least <= delivered <= most else 0


def _find_short_epochs(view: StreamView, known: Known) -> list[_ShortEpoch]:
    if view.filters or view.config("repeats") is not None or view.config("replication") is True:
        return []
    size, samples = view.declared("source_size"), view.declared("num_samples")
    expected = size if samples is None else samples
    if view.has("padding") and None not in {size, samples}:
        expected = min(size, samples)  # what was added to it is not in the view
    drawn = view.declared("replacement") is True or view.declared("weights") is not None
    each_once = not drawn and expected == size
    if expected is None or (samples is None and not each_once):
        return []
    short = _count(view, known, int(expected), each_once=each_once)
    return _unexplained(view, short, each_once=each_once) if short else []


def _count(view: StreamView, known: Known, expected: int, *, each_once: bool) -> list[_ShortEpoch]:
    short: list[_ShortEpoch] = []
    fixed = each_once and view.declared("shuffle") is False
    all_codes = view.record.values if each_once else np.zeros(0, np.int64)
    last = next(reversed(view.epochs), None)
    for epoch, rows in view.by_epoch():
        came = _came(view, rows)
        told_apart = came if view.places is None else view.places[rows]
        count = expected - _delivered(view, told_apart, len(rows), each_once=each_once)
        if count <= 0:
            continue
        if epoch == last and not (each_once and is_cut_before_end(view, rows)):
            continue  # it may have been interrupted
        codes = lacking(all_codes, came)
        if known.missing is not None:
            count -= len(lacking(known.missing, came))
            codes = codes[~contains(known.missing, codes)]
        count = min(count, len(codes)) if fixed else count
        if count > 0:
            short.append(_ShortEpoch(epoch, count, expected, rows, codes))
    return short


def _came(view: StreamView, rows: Integers) -> Integers:
    """Give the records of an epoch; one that was asked for and replaced is another finding."""
    came = view.record.values[rows]
    if not view.has("asked"):
        return came
    return np.concatenate([came, view.as_records("asked").values[rows]])


def _delivered(view: StreamView, came: Integers, rows: int, *, each_once: bool) -> int:
    """Count what an epoch delivers: its records, where it is to deliver each once, or its rows."""
    copies = declared_copies(view, "replication")
    if not each_once:
        return rows // copies
    records = len(distinct(came))
    return records if rows - records <= FEW * rows else max(records, rows // copies)


def _unexplained(
    view: StreamView, short: list[_ShortEpoch], *, each_once: bool
) -> list[_ShortEpoch]:
    """Leave out what dropped batches may lose.

    Raises:
        CannotTell: it is not known whether they may, or how many records an epoch has.
    """
    if goes_on(view.stream):
        raise CannotTell("a run that was not resumed")
    if not view.complete:
        raise CannotTell("a complete run")
    require_all_ranks(view)
    most, drops = loss_by_batches(view), view.declared("drop_remainder")
    fixed = each_once and view.declared("shuffle") is False
    if fixed and drops is not True and view.declared("deterministic") is not False:
        most = 0  # one order drops the same records in each epoch
    left = [epoch for epoch in short if epoch.count > _most(most, epoch)]
    if not left and drops is not True:
        raise CannotTell("batch_size" if most is None else "drop_remainder")
    if left and view.declared("num_samples") is None:
        left = _which_are_to_be_whole(view, left, fixed=fixed)
    kept = [epoch for epoch in left if not _may_be_left_early(view, epoch, fixed=fixed)]
    if left and not kept:
        raise CannotTell("epochs that were not stopped early")
    return kept


def _which_are_to_be_whole(
    view: StreamView, short: list[_ShortEpoch], *, fixed: bool
) -> list[_ShortEpoch]:
    """Keep the epochs that are no samples of the source.

    Others, the baseline's, or the label of a batch that is left out show it.

    Raises:
        CannotTell: none is known to be.
    """
    whole, grow = _has_whole_epoch(view, short[0].expected), _grow(view)
    if (whole or (fixed and not _is_one_pass(view))) and not grow:
        kept = [epoch for epoch in short if fixed or len(epoch.rows) < epoch.expected]
    else:
        kept = [epoch for epoch in short if lacks_before_end(view, epoch.rows)]
    if not kept:
        raise CannotTell(GROWTH if whole and grow else SAMPLES)
    return kept


def _has_whole_epoch(view: StreamView, size: int) -> bool:
    """Tell whether some epoch delivers each record once, rows that even out ranks aside."""
    epochs = (view.asked[rows] for rows in view.epochs.values())
    return any(
        0 <= len(epoch) - size < view.ranks and len(distinct(epoch)) == size for epoch in epochs
    )


def _may_be_left_early(view: StreamView, short: _ShortEpoch, *, fixed: bool) -> bool:
    """Tell whether an epoch may have been left early: for a first look at the data, say.

    An unshuffled one is the beginning of any other, else of the baseline's; or it has less than
    half of what others have, and none of it is known to lie behind what it lacks.
    """
    if lacks_before_end(view, short.rows):
        return False
    little = not fixed and 2 * len(short.rows) < short.expected
    if little and _has_whole_epoch(view, short.expected):
        return True
    return _is_a_beginning(view, short.epoch, fixed=fixed)


def _is_a_beginning(view: StreamView, epoch: int, *, fixed: bool) -> bool:
    mine = view.record.values[view.epochs[epoch]]
    others = [view.record.values[rows] for rows in view.epochs.values()] if fixed else []
    if view.baseline is not None and epoch in view.baseline.epochs:
        others.append(view.baseline.record.values[view.baseline.epochs[epoch]])
    return any(
        len(mine) < len(other) and np.array_equal(mine, other[: len(mine)]) for other in others
    )


def _most(most: int | None, short: _ShortEpoch) -> float:
    return LOST_TAIL * short.expected if most is None else most


def _is_one_pass(view: StreamView) -> bool:
    """Tell whether one pass over the source goes on over several epochs."""
    return are_distinct(view.asked[: len(distinct(view.asked))])


def _grow(view: StreamView) -> bool:
    """Tell whether each epoch adds records to the last, as a curriculum does."""
    sets = [distinct(view.asked[rows]) for rows in view.epochs.values()]
    if len(sets) > 1 and len(sets[-1]) < len(sets[-2]):
        del sets[-1]  # it was cut short
    grows = len(sets[-1]) - len(sets[0]) > FEW * len(sets[-1])
    return grows and not any(len(lacking(one, other)) for one, other in itertools.pairwise(sets))
