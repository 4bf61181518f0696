"""A restart goes on elsewhere than it should.

## What it catches

A resumed run whose next record is not the one that the uninterrupted run had there:
records are skipped or replayed, the run begins again, takes the order of another
epoch, or another order altogether. First and later restarts, in a joined log or in
one that holds the resumed part alone.

## Why it hurts

Weights and step counter come back and the loader does not. Jobs that are preempted
often train on the beginning of the order over and over, or never see some records.

## Example

The saved state names the next chunk of ten, after 13 records:

    uninterrupted   … 11 12 13 14 15
    resumed         … 11 12 20 21 22

## How to mend it

Save the position in delivered records together with seed and epoch, and count what
buffers hold but have not delivered. Load the state before the iterator is made.

## Evidence

- `kind`: "gap", "overlap", "from-start", "epoch-order" or "other-order".
- `restart`: which restart, from 1; `row`: the row of the resumed run, in its rank, which
  is that of a later epoch where the first is right; `ranks`: those on which it happens.
- `expected`, `actual`: IDs of the record that should have come, and that came.
- `offset`: records by which the restart is off, negative where it lies behind; null
  for another order.
- `lost`, `repeated`: IDs that were skipped, and that came again, 20 at most;
  `lost_count`, `repeated_count`: all of them.
- `matched`: rows that follow the uninterrupted order from there on.
- `epoch`: the epoch of the expected record; `matches_epoch`: the one whose order came.
- `declared`: the declared position and its unit.

## Limits

Needs a run that declares `resume`, or has a `resumed` column, and a baseline without
the interruption. A part that marks its first row, and declares no place, should go on
where the label of its first `batch` says. Where neither run has them, a restart is told
by labels: those of the first `batch` are later ones of an epoch than the other run's
first, and a further epoch shows that both runs number alike. A log that has the rows of
the whole run may be of both parts, or of a start from the beginning: `parent`, or
`resumed`, tells. Another order is said of the restart only where no other rule tells the
runs apart. Speaks of records, not of draws.

## Seen in

huggingface/datasets#7630, #7901; google/grain#1179; meta-pytorch/data#1251;
keras-team/keras#22490; AI-Hypercomputer/maxtext#954.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from detloader.audits.headers import unequal_digests
from detloader.audits.measures.conditions import UNKNOWN, is_part_alone, is_resumed
from detloader.audits.measures.shown import show_records
from detloader.audits.rule import CannotTell, Example, Fault, Stage
from detloader.findings import Severity
from detloader.manifest.schema import Resume

if TYPE_CHECKING:
    from detloader.audits.compare import Comparison
    from detloader.audits.measures.missed_restarts import MissedRestart
    from detloader.audits.rule import Known
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue
    from detloader.manifest.reader import Stream

__all__ = ["EXAMPLE", "STAGE", "compare_headers", "compare_runs"]

STAGE = Stage.RESUME

_FLAGS = [False] * 4 + [True] * 4

EXAMPLE = Example(
    baseline={"record": [4, 6, 2, 7, 3, 5, 0, 1]},
    faulty={"record": [4, 6, 2, 7, 4, 6, 2, 7], "resumed": _FLAGS},
    mended={"record": [4, 6, 2, 7, 3, 5, 0, 1], "resumed": _FLAGS},
    declared={"shuffle": True, "seed": 0, "source_size": 8},
)


def compare_headers(a: Stream, b: Stream) -> list[Fault]:
    """Find a resumed run, without what came before, that is the whole run once more."""
    later = [(each, place) for each in (a, b) if (place := _later_place(each)) is not None]
    if len(later) != 1 or not a.rows or a.rows != b.rows or unequal_digests(a, b) != []:
        return []
    ((resumed, resume),) = later
    alone = is_part_alone(resumed)
    if alone is None:
        raise CannotTell("parent, or resumed")
    if not alone:
        return []
    where = f"{resume.unit} {resume.position}"
    if isinstance(resume.epoch, int):
        where += f" of epoch {resume.epoch}"
    return [
        Fault(
            severity=Severity.FAIL,
            message=f"The run that goes on at {where} is the other one from its first record on: "
            f"all {a.rows:,} rows are replayed.",
            cause=CAUSES["from-start"],
            evidence={
                "kind": "from-start",
                "restart": 1,
                "row": 0,
                "matched": a.rows,
                "declared": [resume.position, resume.unit],
            },
        )
    ]


def _later_place(stream: Stream) -> Resume | None:
    """Give the place, not the beginning, at which a run declares to have been taken up again."""
    resume = stream.declared.resume
    if not isinstance(resume, Resume):
        return None
    return resume if resume.position or resume.epoch not in {UNKNOWN, 0} else None


def compare_runs(comparison: Comparison, known: Known) -> list[Fault]:
    """Find restarts that missed their place."""
    streams = comparison.a.stream, comparison.b.stream
    if not (any(map(is_resumed, streams)) or all("batch" in each.columns for each in streams)):
        return []
    from detloader.audits.measures.missed_restarts import find_missed

    missed = find_missed(comparison, known)
    return [] if missed is None else [_fault(missed)]


def _fault(missed: MissedRestart) -> Fault:
    whole, resumed, jump, kind = missed.whole, missed.resumed, missed.jump, missed.kind
    off = None if jump.actual is None or kind == "epoch-order" else jump.actual - jump.expected
    evidence: dict[str, JsonValue] = {
        "kind": kind,
        "restart": jump.number,
        "row": jump.restart,
        "ranks": [*missed.ranks],
        "expected": _id(whole, jump.expected),
        "actual": _id(resumed, jump.restart),
        "offset": off,
        "matched": jump.matched,
        **show_records("lost", whole, missed.lost),
        **show_records("repeated", whole, missed.repeated),
    }
    if jump.expected < whole.rows:
        evidence["epoch"] = int(whole.epoch[jump.expected])
    if jump.actual is not None:
        evidence["matches_epoch"] = int(whole.epoch[jump.actual])
    resume = resumed.declared("resume")
    if resume is not None:
        evidence["declared"] = [resume.position, resume.unit]
    return Fault(
        severity=Severity.FAIL,
        message=_message(evidence, late=jump.late),
        cause=CAUSES[kind],
        evidence=evidence,
    )


def _id(view: StreamView, row: int) -> JsonValue:
    return view.record.show(row) if row < view.rows else None


CAUSES = {
    "gap": "The saved position is ahead of what was delivered: a chunk, a buffer or a unit.",
    "overlap": "The saved position is behind what was delivered: a chunk, a buffer or a unit.",
    "from-start": "The position of the data is not saved, or not loaded.",
    "epoch-order": "The epoch is not restored, so its seed gives the order of another one.",
    "other-order": "The state of the shuffle is not restored, so that another order begins.",
}


def _message(evidence: dict[str, JsonValue], *, late: bool) -> str:
    row = f"from row {evidence['row']} on" if late else f"at row {evidence['row']}"
    where = f"Restart {evidence['restart']}, {row}"
    came = f"{evidence['actual']} came where {evidence['expected']} should have come"
    what = {
        "gap": f"skips {evidence['lost_count']} records",
        "overlap": f"replays {evidence['repeated_count']} records",
        "from-start": f"begins again and replays {evidence['repeated_count']} records",
        "epoch-order": f"goes on in the order of epoch {evidence.get('matches_epoch')}",
        "other-order": "goes on in another order",
    }[str(evidence["kind"])]
    return f"{where}, {what}: {came}."
