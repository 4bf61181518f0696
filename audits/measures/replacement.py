"""Draws with replacement where none is declared, and the reverse."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.confirm import show
from detloader.audits.headers import goes_on
from detloader.audits.integers import distinct, lacking
from detloader.audits.measures.deliverers import deliverers_of
from detloader.audits.measures.explained import explain_missing
from detloader.audits.measures.shards import has_shards
from detloader.audits.measures.statistics import chance_of_no_repeat, is_impossible
from detloader.audits.rule import CannotTell, Fault
from detloader.findings import Severity

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.rule import Known
    from detloader.audits.view import StreamView


__all__ = ["check_replacement", "is_drawn_with_replacement"]


SLIPS = 0.05
"""Share of rows up to which repeated records may be slips."""

MOSTLY = 0.5
"""Share of the repeats that replacement would make from which on it is taken for one."""

SOME = 0.25
"""The same share among the rows of single workers, which are fewer."""


def check_replacement(view: StreamView, known: Known) -> list[Fault]:
    """Judge whether records repeat within an epoch as declared."""
    if goes_on(view.stream) or view.config("repeats") is not None:
        raise CannotTell("a run whose records are not repeated on purpose")
    if view.declared("replacement") is True:
        fault = _check_that_records_repeat(view)
    else:
        fault = _check_that_none_repeats(view)
        _explain_missing(view, known, found=fault is not None)
    return [fault] if fault else []


def _explain_missing(view: StreamView, known: Known, *, found: bool) -> None:
    """Note that draws with replacement leave records out, where codes are positions."""
    size = view.declared("source_size")
    if not found or size is None or view.record.vocabulary is not None or view.has("index"):
        return
    missing = lacking(np.arange(int(size)), view.record.values)
    explain_missing(known, missing)


def _check_that_records_repeat(view: StreamView) -> Fault | None:
    sequences = _sequences(view, view.rank)
    if any(len(distinct(sequence)) < len(sequence) for sequence in sequences):
        return None
    if view.has("shard") and (has_shards(view) or not _is_whole_source(view)):
        raise CannotTell("whether records or whole shards are drawn")
    size = int(view.declared("source_size") or len(distinct(view.asked)))
    fresh = {sequence.tobytes(): len(sequence) for sequence in sequences}
    log_chance = sum(chance_of_no_repeat(length, size) for length in fresh.values())
    if not is_impossible(log_chance):
        raise CannotTell("more rows")
    return Fault(
        severity=Severity.FAIL,
        message=f"No record comes twice in an epoch, in {view.rows} rows, though draws with "
        "replacement are declared.",
        cause="Another sampler than the declared one was used: one that permutes.",
        evidence={
            "kind": "without replacement",
            "rows": view.rows,
            "repeated": 0,
            "log10_chance": round(log_chance / math.log(10), 1),
        },
        confirm=show(view.path),
    )


def _is_whole_source(view: StreamView) -> bool:
    """Tell whether all that the source is declared to have came: one shard may be one of many."""
    size = view.declared("source_size")
    return size is not None and len(distinct(view.asked)) >= size


def _check_that_none_repeats(view: StreamView) -> Fault | None:
    if not view.has("epoch") and view.declared("num_epochs") != 1:
        raise CannotTell("epoch")
    if (view.declared("workers") or 0) > 1 and not view.has("worker"):
        raise CannotTell("worker")
    if not is_drawn_with_replacement(view):
        return None
    repeated = sum(map(_repeats, _sequences(view, view.rank)))
    return Fault(
        severity=Severity.FAIL,
        message=f"{repeated} of {view.rows} rows repeat a record of their epoch, though draws "
        "without replacement are declared.",
        cause="Another sampler than the declared one was used: one that draws with replacement.",
        evidence={"kind": "with replacement", "rows": view.rows, "repeated": repeated},
        confirm=show(view.path),
    )


def is_drawn_with_replacement(view: StreamView) -> bool:
    """Tell whether records repeat within an epoch as draws with replacement repeat them.

    Each rank repeats some about as often as draws would, and so do its workers: where these
    only have records in common, they overlap.

    Raises:
        CannotTell: which of the declared workers delivered what is unknown.
    """
    size = int(view.declared("source_size") or len(distinct(view.asked)))
    by_rank = _sequences(view, view.rank)
    by_worker = _sequences(view, deliverers_of(view).of_row) if view.has("worker") else by_rank
    repeated = sum(map(_repeats, by_rank))
    if repeated <= max(SLIPS * view.rows, MOSTLY * _expected(by_rank, size)):
        return False
    if any(map(_all_come_alike, (by_rank, by_worker, [view.asked]))):
        return False
    if (view.declared("workers") or 0) > 1 and not view.has("worker"):
        raise CannotTell("worker")
    return sum(map(_repeats, by_worker)) > SOME * _expected(by_worker, size)


def _expected(sequences: list[Integers], size: int) -> float:
    """Give how many rows of sequences drawn with replacement would repeat a record."""
    if size < 2:  # noqa: PLR2004
        return float(sum(len(sequence) - 1 for sequence in sequences))
    other = math.log1p(-1 / size)
    return sum(len(each) + size * math.expm1(len(each) * other) for each in sequences)


def _repeats(sequence: Integers) -> int:
    return len(sequence) - len(distinct(sequence))


def _sequences(view: StreamView, labels: Integers) -> list[Integers]:
    """Give the records of each epoch of each rank or worker, in delivery order."""
    order = np.lexsort((view.position, labels, view.epoch))
    starts = (np.diff(labels[order]) != 0) | (np.diff(view.epoch[order]) != 0)
    # What was asked for is what the sampler drew; what came instead is another fault.
    return np.split(view.asked[order], np.flatnonzero(starts) + 1)


def _all_come_alike(sequences: list[Integers]) -> bool:
    """Tell whether all records of each sequence come equally often: repeated on purpose."""
    counts = [np.unique(sequence, return_counts=True)[1] for sequence in sequences]
    return all(int(count.max()) - int(count.min()) <= 1 < int(count.min()) for count in counts)
