"""Workers or ranks overlap, all read everything, or leave gaps.

## What it catches

Parts of a loader (workers of one rank, or ranks) that do not share the source
out: each delivers all of it, some records come from several parts in one epoch,
or each part walks with the stride of more parts than there are. In an audit, where
nobody recorded which worker delivered what, also records that each come as many times
in an epoch of one run as it seems to have parts, and once in the other run: a warning.

## Why it hurts

An epoch is longer than the data or lacks some of it, one batch holds copies of a
record, and the totals may still look right, for overlap and gaps cancel out.

## Example

Each of two workers reads the whole source:

    worker 0   0 1 2 3
    worker 1   0 1 2 3

## How to mend it

Split a stream-style data set by worker and rank (`get_worker_info`, the rank and
the world size), or let the framework shard it. Give every rank's sampler the same
seed, its own rank and the real world size. Ranks that are meant to share data are
declared: `config.replication` says how many of them form one group. Where each
validates on all of the data, say so of that loader alone:
`record(loader, run, declared={"config": {"replication": True}})`, or, in a program
that is recorded as it is, `detloader.name(loader, "val", declared=…)` with the same.

## Evidence

- `by`: "worker" or "rank".
- `kind`: "replicated", "overlap", "gaps", or "copies" where parts are not told.
- `parts`: the workers or ranks concerned; `rank`: of workers, on which rank.
- `records`: IDs that several parts deliver, 20 at most; `records_count`: all of them.
- `never_delivered`: IDs of the gap, 20 at most; `never_delivered_count`: all of them.
- `epoch`: the first epoch in which it happens; `epochs_count`: how many there are.
- For copies: `times` that each record comes, `records_count`, and `undecidable`, for a
  source that lists its records as often would give them, too.

## Limits

Needs `rank` or `worker`, and `epoch` unless one epoch is declared. Silent where
`replacement` is declared true, where rows are marked as padding, where fewer records
repeat than there are ranks, each as the last row of a rank or of a worker (a sampler
evens out its ranks), where an epoch that lacks no record ends with those that it began
with, to fill up its batches, where records repeat as draws with replacement repeat
them, though none is declared (`sampling-distribution`), and where `config.replication`,
`config.repeats`, or a `num_samples` above `source_size` covers it. Where replacement is
undeclared, it is taken for none if the parts of a shuffled run are free of repeats and
chance cannot have left them so; else, and where one of several whole shards may have
been drawn, it cannot tell. Nor can it where ranks of a shuffled run deliver one part
each of more parts than there are ranks: what lies between the steps of a stride, a
shuffle hides (`coverage-hole` counts it). Nor where all that several ranks deliver has
other content on each of them, under equal draws: each rank then counts a part of its
own from 0, and `ids` that mean the same on every rank have to be recorded. A record that
stands at several places of the source (`index`) comes once from each.

## Seen in

huggingface/datasets#3423, #5360; pytorch/pytorch#30599; finetrainers#394, #415.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.headers import goes_on
from detloader.audits.integers import are_distinct, distinct, lacking
from detloader.audits.measures.conditions import is_unexplained, require_equal_arguments
from detloader.audits.measures.copies import copies_unlike
from detloader.audits.measures.dealing import find_breaches
from detloader.audits.measures.explained import explain_missing, explain_places
from detloader.audits.measures.filling import without_filling
from detloader.audits.measures.local_ids import SHARED_IDS, are_local
from detloader.audits.measures.shortness import parts_of_deal
from detloader.audits.measures.shown import SHOWN, show_records
from detloader.audits.rule import CannotTell, Example, Fault, Stage
from detloader.findings import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from detloader.audits.compare import Comparison
    from detloader.audits.measures.dealing import Breach
    from detloader.audits.rule import Known
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue

__all__ = ["EXAMPLE", "STAGE", "check_run", "compare_runs"]

STAGE = Stage.TOPOLOGY

EXAMPLE = Example(
    faulty={"epoch": [0] * 8, "worker": [0, 1] * 4, "record": [0, 0, 1, 1, 2, 2, 3, 3]},
    mended={"epoch": [0] * 4, "worker": [0, 1] * 2, "record": [0, 1, 2, 3]},
    declared={"shuffle": False, "source_size": 4, "workers": 2},
)


def check_run(view: StreamView, known: Known) -> list[Fault]:
    """Find parts that do not share the source out."""
    if view.declared("replacement") is True:
        return []
    if view.ranks == 1 and not view.has("worker"):
        raise CannotTell("rank or worker")
    if goes_on(view.stream):
        raise CannotTell("a run that was not resumed")
    rows = without_filling(view)
    records = int(view.declared("source_size") or len(distinct(rows.asked)))
    faults: list[Fault] = []
    missing: list[str] = []
    for by, rank, level in _levels(rows):
        try:
            faults += _judge(level, by, rank, records, known)
        except CannotTell as answer:
            missing += answer.missing
    if not faults and _may_be_too_many_parts(rows):
        missing.append("the order that was dealt out")
    if missing and not faults:
        raise CannotTell(*missing)
    return faults


def compare_runs(comparison: Comparison, known: Known) -> list[Fault]:
    """Find records that each come several times, and once in the other run."""
    a, b = comparison.a, comparison.b
    if not is_unexplained(comparison, known) or any(goes_on(view.stream) for view in (a, b)):
        return []
    if any(view.ranks > 1 or view.has("worker") for view in (a, b)):
        return []  # these are asked one by one
    require_equal_arguments(a.stream, b.stream)
    if times := copies_unlike(b, a):
        return [_copied(b, times, of_baseline=False)]
    if times := copies_unlike(a, b):
        return [_copied(a, times, of_baseline=True)]
    return []


def _copied(view: StreamView, times: int, *, of_baseline: bool) -> Fault:
    records = view.rows // times // len(view.epochs)
    where = "the other run" if of_baseline else "the baseline"
    return Fault(
        severity=Severity.WARN,
        message=f"Each of {records} records comes {times} times in an epoch, and once in {where}.",
        cause=f"The source is not divided, and each of {times} workers reads all of it, or it "
        f"lists each record {times} times.",
        evidence={
            "by": "worker",
            "kind": "copies",
            "times": times,
            "records_count": records,
            "epoch": min(view.epochs),
            "epochs_count": len(view.epochs),
            "undecidable": True,
        },
        of_baseline=of_baseline,
    )


def _may_be_too_many_parts(view: StreamView) -> bool:
    """Tell whether each rank of a shuffled run delivers one of more parts than there are ranks."""
    size, samples = view.declared("source_size"), view.declared("num_samples")
    epochs = [view.asked[rows] for rows in view.epochs.values()][:-1]
    if view.ranks == 1 or not epochs or size is None or samples not in {None, size}:
        return False
    if view.declared("shuffle") is False or view.filters:
        return False
    return all(
        are_distinct(epoch) and parts_of_deal(int(size), len(epoch), view.ranks) > view.ranks
        for epoch in epochs
    )


def _levels(view: StreamView) -> Iterator[tuple[str, int | None, StreamView]]:
    if view.ranks > 1:
        yield "rank", None, view
    if view.has("worker"):
        for rank, rows in view.by_rank():
            yield "worker", rank if view.ranks > 1 else None, view.take(rows)


def _judge(view: StreamView, by: str, rank: int | None, records: int, known: Known) -> list[Fault]:
    breaches = find_breaches(view, by, records)
    if not breaches:
        return []
    if by == "rank" and are_local(
        view, functools.reduce(np.union1d, [b.records for b in breaches])
    ):
        raise CannotTell(SHARED_IDS)
    _explain_missing(view, breaches, known)
    if all(breach.kind == "replicated" for breach in breaches):
        known.copies = max(known.copies, min(len(breach.parts) for breach in breaches))
    return [_fault(view, by, rank, breaches)]


def _explain_missing(view: StreamView, breaches: list[Breach], known: Known) -> None:
    """Note that what no part delivers does not come."""
    never = functools.reduce(np.intersect1d, [breach.never for breach in breaches])
    if view.baseline is not None:
        never = np.union1d(never, lacking(view.baseline.record.values, view.record.values))
    explain_missing(known, never)
    if all(breach.gap for breach in breaches):
        places = [breach.gap.places for breach in breaches if breach.gap]
        explain_places(known, functools.reduce(np.intersect1d, places))


def _fault(view: StreamView, by: str, rank: int | None, breaches: list[Breach]) -> Fault:
    first = breaches[0]
    missing = len(first.never) if first.gap is None else len(first.gap.places)
    evidence: dict[str, JsonValue] = {
        "by": by,
        "kind": first.kind,
        "parts": first.parts[:SHOWN].tolist(),
        **show_records("records", view, first.records),
        **show_records("never_delivered", view, first.never),
        "never_delivered_count": missing,
        "epoch": first.epoch,
        "epochs_count": len(breaches),
    }
    if rank is not None:
        evidence["rank"] = rank
    where = f" of rank {rank}" if rank is not None else ""
    when = f"in epoch {first.epoch}"
    count, parts = len(first.records), len(first.parts)
    lost = f", and {missing} never come" if missing else ""
    message = {
        "replicated": f"All {parts} {by}s{where} deliver the same {count} records, "
        f"so that each comes {parts} times {when}.",
        "overlap": f"{count} records come from more than one {by}{where} {when}{lost}.",
        "gaps": f"{missing} records come from no {by}{where} {when}, at even distances.",
    }
    cause = {
        "replicated": f"The source is not divided: each {by} reads all of it.",
        "overlap": f"The {by}s divide the source by rules that do not fit each other.",
        "gaps": f"The source is divided among more {by}s than there are.",
    }
    return Fault(
        severity=Severity.FAIL,
        message=message[first.kind],
        cause=cause[first.kind],
        evidence=evidence,
    )
