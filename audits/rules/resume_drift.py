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
- `restart`: which restart, from 1; `row`: the row of the resumed run, in its rank;
  `ranks`: the ranks on which it happens.
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
the interruption. Another order is said of the restart only where no other rule tells
the runs apart. Speaks of records, not of draws.

## Seen in

huggingface/datasets#7630, #7901; google/grain#1179; meta-pytorch/data#1251;
keras-team/keras#22490; AI-Hypercomputer/maxtext#954.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.measures.conditions import is_resumed
from detloader.audits.measures.jumps import find_jumps, kind_of_jump, lost_and_repeated
from detloader.audits.measures.shown import show_records
from detloader.audits.rule import CannotTell, Example, Fault, Stage
from detloader.audits.view import load_views
from detloader.findings import Severity

if TYPE_CHECKING:
    from detloader.audits.compare import Comparison
    from detloader.audits.measures.jumps import Jump
    from detloader.audits.rule import Known
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue

__all__ = ["EXAMPLE", "STAGE", "compare_runs"]

STAGE = Stage.RESUME

_FLAGS = [False] * 4 + [True] * 4

EXAMPLE = Example(
    baseline={"record": [4, 6, 2, 7, 3, 5, 0, 1]},
    faulty={"record": [4, 6, 2, 7, 4, 6, 2, 7], "resumed": _FLAGS},
    mended={"record": [4, 6, 2, 7, 3, 5, 0, 1], "resumed": _FLAGS},
    declared={"shuffle": True, "seed": 0, "source_size": 8},
)


def compare_runs(comparison: Comparison, known: Known) -> list[Fault]:
    """Find restarts that missed their place."""
    a, b = comparison.a, comparison.b
    if not (is_resumed(a.stream) or is_resumed(b.stream)):
        return []
    whole, resumed = _whole(a, b)
    if not is_resumed(resumed.stream):
        whole, resumed = resumed, whole
    found = list(find_jumps(whole, resumed))
    if not found:
        return []
    _, whole, resumed, jump = found[0]
    if jump.actual is None and known.causes:
        return []
    if jump.expected >= whole.rows and jump.actual is None:
        raise CannotTell("a baseline that goes on after the restart")
    _explain_missing(comparison, known)
    return [_fault(whole, resumed, jump, [rank for rank, *_ in found])]


def _explain_missing(comparison: Comparison, known: Known) -> None:
    """Explain the records that the other run lacks: a restart skipped them, or left them out."""
    missing = np.ones(comparison.a.rows, dtype=np.bool_)
    missing[comparison.alignment.rows_a] = False
    codes = np.unique(comparison.a.record.values[missing])
    known.missing = codes if known.missing is None else np.union1d(known.missing, codes)


def _whole(a: StreamView, b: StreamView) -> tuple[StreamView, StreamView]:
    """Give all rows of both runs, where only a common beginning was compared."""
    if a.rows == a.stream.rows and b.rows == b.stream.rows:
        return a, b
    first, second = load_views([(a.path, a.stream), (b.path, b.stream)])
    return first, second


def _fault(whole: StreamView, resumed: StreamView, jump: Jump, ranks: list[int]) -> Fault:
    kind = kind_of_jump(whole, jump)
    lost, repeated = lost_and_repeated(whole, resumed, jump, kind)
    off = None if jump.actual is None or kind == "epoch-order" else jump.actual - jump.expected
    evidence: dict[str, JsonValue] = {
        "kind": kind,
        "restart": jump.number,
        "row": jump.restart,
        "ranks": [*ranks],
        "expected": _id(whole, jump.expected),
        "actual": _id(resumed, jump.restart),
        "offset": off,
        "matched": jump.matched,
        **show_records("lost", whole, lost),
        **show_records("repeated", whole, repeated),
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
        message=_message(evidence),
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


def _message(evidence: dict[str, JsonValue]) -> str:
    where = f"Restart {evidence['restart']}, at row {evidence['row']}"
    came = f"{evidence['actual']} came where {evidence['expected']} should have come"
    what = {
        "gap": f"skips {evidence['lost_count']} records",
        "overlap": f"replays {evidence['repeated_count']} records",
        "from-start": f"begins again and replays {evidence['repeated_count']} records",
        "epoch-order": f"goes on in the order of epoch {evidence.get('matches_epoch')}",
        "other-order": "goes on in another order",
    }[str(evidence["kind"])]
    return f"{where}, {what}: {came}."
