"""Records are replaced or skipped, or an epoch is empty.

## What it catches

A record that was asked for and another that came; records of the source, or of the
baseline, that never come although nothing declared leaves them out; epochs that have
fewer records than is declared, or than others have; epochs that begin with a later
record than the baseline's; an epoch without rows between others.

## Why it hurts

Nothing fails: the loader takes the next record instead of an unreadable one, or a
filter swallows it. A neighbour is seen twice, batches differ, and scores are over
fewer records than reported.

## Example

Two unreadable records are replaced by others:

    asked    0 1 2 3 4 5 6 7
    record   0 1 2 5 4 5 6 6

## How to mend it

Let a failing read raise, or skip it in the open and count it. Repair the records that
are named. A filter that is meant is declared as `config.filter`.

## Evidence

- `dropped`: IDs that never come, 1,000 at most, or their places in the source where no ID
  is known; `dropped_count`: all of them.
- `skipped`: IDs that the baseline delivers before the first record of the first epoch that
  begins late, 20 at most; `skipped_count`: all of them; `epochs`: those that begin late.
- `lacking`: IDs that other epochs deliver and the first epoch of fewer records than is
  declared does not, 20 at most; `lacking_count`: how many it lacks; `expected`: how many it
  should have; `epochs`: all that lack some, 20 at most.
- `substituted`: row, epoch, asked and delivered ID, 20 at most; `substituted_count`.
- `empty_epochs`: epochs without rows.
- `rows`: rows of the run.

## Limits

Needs `asked`, or a complete run with `source_size` or a baseline. Silent about what a
declared `drop_remainder` can lose in each epoch, unless the same records are lost in so
many shuffled epochs that chance is excluded; about runs that draw with replacement, where
chance may leave a record out (where neither `weights` nor a baseline tells how often it
should come, it is one of few, and the others come equally often, twenty times or more);
where a filter is declared, for its name does not say which records pass, nor that these are
the same in each epoch; about what lies behind the first `num_samples` records of an
unshuffled run; and about a last epoch that is cut short: it is held against the baseline's,
and only for records that come before others there. One epoch alone may have been stopped
early: it is silent about the beginning of the source or of the baseline, and cannot tell of
a shuffled one. Nor can it tell where epochs differ in length, where each leaves out others
and `num_samples` is undeclared (an epoch that has all records says it as well, as do the
baseline's order, a batch label that is left out, and `source_size` of an unshuffled run),
where epochs grow, where records come again and `replacement` is undeclared, where a few come
from several places of the source (`index`) and may have come for others, or, in an audit,
where an entry of `config` differs. The length of an epoch is not judged that is the
beginning of the baseline's, or, unshuffled, of another, or that has less than half of the
records of others, for it may have been a look at the data. A smaller `source_size` than the
baseline's is a note.

## Seen in

lucidrains/DALLE-pytorch#195; pytorch/pytorch#1137; video2dataset#179.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.confirm import show
from detloader.audits.headers import goes_on
from detloader.audits.integers import distinct, lacking
from detloader.audits.measures.beginnings import late_beginnings
from detloader.audits.measures.conditions import EQUAL_ARGUMENTS, is_resumed
from detloader.audits.measures.excuses import is_explained
from detloader.audits.measures.explained import explain_missing
from detloader.audits.measures.holes import SHOWN, find_hole
from detloader.audits.measures.losses import require_all_ranks
from detloader.audits.measures.shortness import check_lengths
from detloader.audits.measures.shown import listed, show_records
from detloader.audits.measures.smaller_source import has_smaller_source, note_smaller_source
from detloader.audits.measures.source import without_padding
from detloader.audits.rule import CannotTell, Example, Fault, Stage
from detloader.findings import Severity
from detloader.order.permutation import is_published_right

if TYPE_CHECKING:
    from detloader.audits.measures.holes import Hole
    from detloader.audits.rule import Known
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue, RecordId

__all__ = ["EXAMPLE", "STAGE", "check_run"]

STAGE = Stage.COVERAGE

EXAMPLE = Example(
    faulty={"asked": [0, 1, 2, 3, 4, 5], "record": [0, 1, 2, 5, 4, 5]},
    mended={"asked": [0, 1, 2, 3, 4, 5], "record": [0, 1, 2, 3, 4, 5]},
    declared={"shuffle": False, "source_size": 6},
)

SHOWN_ROWS = 20
"""Substituted rows that the evidence shows."""


def check_run(view: StreamView, known: Known) -> list[Fault]:
    """Find records that were replaced or never came, and epochs without rows."""
    rows = without_padding(view)
    faults: list[Fault] = []
    missing: list[str] = []
    for find in (
        _find_substituted,
        _find_skipped,
        _find_dropped,
        check_lengths,
        _find_empty_epochs,
    ):
        try:
            faults += find(rows, known)
        except CannotTell as answer:
            missing = missing or answer.missing
    faults += note_smaller_source(rows)
    if missing and not faults:
        raise CannotTell(*missing)
    return faults


def _find_substituted(view: StreamView, known: Known) -> list[Fault]:
    if not view.has("asked"):
        return []
    asked = view.as_records("asked")
    rows = np.flatnonzero((asked.values != view.record.values) & ~asked.missing())
    if not len(rows):
        return []
    lost = lacking(asked.values[rows], view.record.values)
    explain_missing(known, lost)
    shown = view.column("asked")
    evidence = _evidence(view, view.identify(lost[:SHOWN]), len(lost)) | {
        "substituted": [
            {
                "row": int(row),
                "epoch": int(view.epoch[row]),
                "asked": shown.show(int(row)),
                "record": view.record.show(int(row)),
            }
            for row in rows[:SHOWN_ROWS]
        ],
        "substituted_count": len(rows),
    }
    first = int(rows[0])
    return [
        Fault(
            severity=Severity.WARN if view.baseline is None else Severity.FAIL,
            message=f"{len(rows)} {_rows(len(rows))} another record than was asked for, first in "
            f"row {first}: {shown.show(first)} was asked for and {view.record.show(first)} came.",
            cause="Records that cannot be read are silently replaced by others.",
            evidence=evidence,
            confirm=show(view.path, record=view.identify(asked.values[rows[:1]])[0]),
        )
    ]


def _rows(count: int) -> str:
    return "row holds" if count == 1 else "rows hold"


def _find_skipped(view: StreamView, known: Known) -> list[Fault]:
    if view.filters or is_resumed(view.stream) or has_smaller_source(view):
        return []
    late = late_beginnings(view)
    if not late:
        return []
    if view.otherwise:
        raise CannotTell(EQUAL_ARGUMENTS)  # one of them may be what is skipped
    explain_missing(known, distinct(np.concatenate([epoch.skipped for epoch in late])))
    first, count = late[0], len(late[0].skipped)
    records = "record" if count == 1 else f"{count} records"
    names = listed(view.identify(first.skipped[:SHOWN_ROWS]), count)
    more = f", and so do {len(late) - 1} further epochs" if len(late) > 1 else ""
    return [
        Fault(
            severity=Severity.FAIL,
            message=f"Epoch {first.epoch} skips the first {records} of the baseline's ({names})"
            f"{more}.",
            cause="The first records are skipped: by a `skip`, or by a restart that was not "
            "declared.",
            evidence=show_records("skipped", view, first.skipped)
            | {"epochs": [epoch.epoch for epoch in late[:SHOWN_ROWS]], "rows": view.rows},
            confirm=show(view.path, epoch=first.epoch),
        )
    ]


def _find_dropped(view: StreamView, known: Known) -> list[Fault]:
    hole = find_hole(view, known)
    if hole is None or view.filters:
        return []
    if goes_on(view.stream):
        raise CannotTell("a run that was not resumed")
    if not view.complete or not view.rows:
        raise CannotTell("a complete run")
    require_all_ranks(view)
    if is_explained(view, hole):
        return []
    if view.otherwise:
        raise CannotTell(EQUAL_ARGUMENTS)  # one of them may have asked for fewer records
    if hole.codes is not None:
        explain_missing(known, hole.codes)
    return [_dropped_fault(view, hole)]


def _dropped_fault(view: StreamView, hole: Hole) -> Fault:
    evaluated = view.declared("purpose") == "eval"
    # Of records whose IDs nobody knows, the names are their places.
    named = bool(hole.names) and hole.codes is not None
    names = listed(hole.names, hole.count)
    noun = "Record" if named else "The record at place"
    nouns = "Records" if named else "The records at places"
    who = f"{noun if hole.count == 1 else nouns} {names}" if hole.names else f"{hole.count} records"
    verb = "comes" if hole.count == 1 else "come"
    why = "the baseline delivers" if hole.by_baseline else f"the source of {hole.size} records has"
    return Fault(
        severity=Severity.FAIL if hole.by_baseline or evaluated else Severity.WARN,
        message=f"{who} never {verb}, though {why} "
        f"{'it' if hole.count == 1 else 'them'}: {hole.count} of {hole.size} records.",
        cause=_cause(view, hole),
        evidence=_evidence(view, hole.names, hole.count),
        confirm=show(view.path, record=hole.names[0]) if named else None,
    )


def _cause(view: StreamView, hole: Hole) -> str:
    if view.config("compatibility") is not None and not is_published_right(hole.size):
        return (
            "Grain's own shuffle, which `compatibility` asks for, is no permutation of "
            f"{hole.size:,} records: some come twice, and others never."
        )
    samples = view.declared("num_samples")
    if samples is not None and samples < hole.size:
        return (
            f"`num_samples` leaves {hole.size - samples:,} records out of each epoch, yet hardly "
            "these in all of them by chance: epochs do not draw from the whole source."
        )
    return "The loader skips records, and nothing that was declared accounts for it."


def _find_empty_epochs(view: StreamView, known: Known) -> list[Fault]:  # noqa: ARG001 - explains none
    if not view.has("epoch") or not view.rows or goes_on(view.stream):
        return []
    present = distinct(view.epoch)
    if int(present[-1] - present[0]) + 1 == len(present):
        return []
    between = np.arange(present[0], present[0] + min(present[-1] - present[0], 1_000_000))
    for sampling in filter(None, view.stream.samplings):
        between = np.intersect1d(between, sampling.epochs or between)
    empty = lacking(between, present)[:SHOWN]
    if not len(empty):
        return []
    delivered = view.baseline is not None and bool(np.isin(empty, view.baseline.epoch).any())
    return [
        Fault(
            severity=Severity.FAIL if delivered else Severity.WARN,
            message=f"No record comes in epoch {', '.join(map(str, empty[:6].tolist()))}.",
            cause="An epoch ended before it began: the iterator was already exhausted.",
            evidence=_evidence(view, [], 0) | {"empty_epochs": empty.tolist()},
        )
    ]


def _evidence(view: StreamView, dropped: list[RecordId], count: int) -> dict[str, JsonValue]:
    return {"dropped": [*dropped], "dropped_count": count, "rows": view.rows}
