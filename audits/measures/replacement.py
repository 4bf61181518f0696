"""Draws with replacement where none is declared, and the reverse."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.confirm import show
from detloader.audits.integers import lacking
from detloader.audits.measures.deliverers import deliverers_of
from detloader.audits.measures.statistics import chance_of_no_repeat, is_impossible
from detloader.audits.rule import CannotTell, Fault
from detloader.findings import Severity

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.rule import Known
    from detloader.audits.view import StreamView


__all__ = ["check_replacement"]


REPEATED = 0.2
"""Share of rows that repeat a record from which on it is no slip, but replacement."""


def check_replacement(view: StreamView, known: Known) -> list[Fault]:
    """Judge whether records repeat within an epoch as declared."""
    if view.declared("resume") is not None or view.config("repeats") is not None:
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
    known.missing = missing if known.missing is None else np.union1d(known.missing, missing)


def _check_that_records_repeat(view: StreamView) -> Fault | None:
    sequences = _sequences(view, view.rank)
    if any(len(np.unique(sequence)) < len(sequence) for sequence in sequences):
        return None
    size = int(view.declared("source_size") or len(np.unique(view.record.values)))
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


def _check_that_none_repeats(view: StreamView) -> Fault | None:
    if not view.has("epoch") and view.declared("num_epochs") != 1:
        raise CannotTell("epoch")
    if (view.declared("workers") or 0) > 1 and not view.has("worker"):
        raise CannotTell("worker")
    sequences = _sequences(view, deliverers_of(view).of_row)
    repeated = sum(len(sequence) - len(np.unique(sequence)) for sequence in sequences)
    if repeated < REPEATED * view.rows or _all_come_alike(sequences):
        return None
    return Fault(
        severity=Severity.FAIL,
        message=f"{repeated} of {view.rows} rows repeat a record of their epoch, though draws "
        "without replacement are declared.",
        cause="Another sampler than the declared one was used: one that draws with replacement.",
        evidence={"kind": "with replacement", "rows": view.rows, "repeated": repeated},
        confirm=show(view.path),
    )


def _sequences(view: StreamView, labels: Integers) -> list[Integers]:
    """Give the records of each epoch of each rank or worker, in delivery order."""
    order = np.lexsort((view.position, labels, view.epoch))
    starts = (np.diff(labels[order]) != 0) | (np.diff(view.epoch[order]) != 0)
    return np.split(view.record.values[order], np.flatnonzero(starts) + 1)


def _all_come_alike(sequences: list[Integers]) -> bool:
    """Tell whether all records of each sequence come equally often: repeated on purpose."""
    counts = [np.unique(sequence, return_counts=True)[1] for sequence in sequences]
    return all(int(count.max()) - int(count.min()) <= 1 < int(count.min()) for count in counts)
