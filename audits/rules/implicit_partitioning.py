"""The loader cut its IDs into contiguous parts, dropped the remainder, and merged the parts.

## What it catches

An order that is a merge of W contiguous parts of s = N // W records each, while
the last N mod W records of the source never come: in every epoch of a finite
pass, or in all draws of a schedule that ought to draw them.

## Why it hurts

Nobody asked for it. With sorted IDs it is always the same last subjects that are
never trained on, up to half of them (N = 2 W - 1), and the order depends on timing.

## Example

Ten records over four workers: parts of two, and 8 and 9 are dropped:

    source   0 1 2 3 4 5 6 7 8 9
    run      6 0 1 2 3 7 4 5

## How to mend it

Use one global schedule, drawn before anything is shared out: `random_id_generator` or
`to_grain` of detloader. Where a frozen experiment has to be replayed as it was, keep
the worker count.

## Evidence

- `dropped`: IDs that never come, 1,000 at most; `dropped_count`: all of them. Where each
  epoch lacks others, `dropped_places` in their stead: where they stand in the baseline's.
- `partitions`: every worker count that fits, the declared one first.
- `formula`: how the order follows from the source.
- `explained_rows` of `rows`: rows that the formula explains, of those judged.
- `undecidable`: whether one global schedule, or fewer rows, would fit as well.
- `log10_chance`: decimal logarithm of the chance that a fair shuffle does this;
  absent where no shuffle is declared.

## Limits

Needs source positions: `source_size` with integer IDs or `index`, or a baseline in
source order. Parts of a baseline in any other order are found where records were
dropped, and chance cannot have done it. In source order with the tail missing, one
worker fits as well: it speaks, as undecidable, only where the declared worker count
explains the tail and no batch does. Parts of one record prove nothing: it speaks, as
undecidable, only where no shuffle is meant and the declared worker count fits. Parts in
another number than several declared workers are no parts, for batches that workers form
in turn look alike. A dropped last batch that explains the same count makes it
undecidable, unless chance cannot have made the merge. Where a shuffle may be meant, the
passes together must be longer than chance explains. Draws of records in several shards may
be draws of whole shards: it cannot tell. Without a dropped tail it needs a
baseline in source order, and parts that truly interleave, and is a note: data sets that are
interleaved give that order as well. An `index` that several records
have in common, as where each part of a mixture counts from 0, is no place in the source.

## Seen in

helia-edge up to 0.6.2: `create_interleaved_dataset_from_generator`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.confirm import replay_again
from detloader.audits.headers import goes_on
from detloader.audits.measures.partition_forms import explain_passes
from detloader.audits.measures.partitions import collect_passes
from detloader.audits.measures.source import (
    baseline_order,
    baseline_source,
    source_of,
    without_padding,
)
from detloader.audits.rule import CannotTell, Example, Fault, Stage
from detloader.findings import Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detloader.audits.columns import Integers
    from detloader.audits.measures.partition_forms import Parts
    from detloader.audits.measures.partitions import Passes
    from detloader.audits.measures.source import Source
    from detloader.audits.rule import Known
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue, RecordId

__all__ = ["EXAMPLE", "STAGE", "check_run"]

STAGE = Stage.PARTITION

EXAMPLE = Example(
    faulty={"epoch": [0] * 8, "record": [6, 0, 1, 2, 3, 7, 4, 5]},
    mended={"epoch": [0] * 10, "record": list(range(10))},
    declared={"shuffle": False, "source_size": 10, "workers": 4},
)

DROPPED = (
    "Implicit partitioning: the loader split its IDs over workers into contiguous "
    "parts of equal length, left out the remainder, and merged the parts as they came."
)
WHOLE = "Contiguous parts of equal length were merged: one of each worker, or of each data set."

SHOWN = 1000
"""Dropped records that the evidence names."""


def check_run(view: StreamView, known: Known) -> list[Fault]:
    """Find contiguous parts that were merged, with the remainder dropped."""
    if goes_on(view.stream):
        return []
    rows = without_padding(view)
    missing: list[str] = []
    for find in (baseline_source, source_of):
        try:
            found = _find(rows, find(rows))
        except CannotTell as answer:
            missing += answer.missing
            continue
        if found is not None:
            return [_fault(view, *found, known)]
    found = _find_dropped(rows)
    if found is not None:
        return [_fault(view, *found, known)]
    if missing:
        raise CannotTell(*missing)
    return []


def _find(view: StreamView, source: Source | None) -> tuple[Source, Passes, Parts] | None:
    passes = None if source is None else collect_passes(view, source)
    if source is None or passes is None:
        return None
    parts = explain_passes(view, source, passes)
    return None if parts is None else (source, passes, parts)


def _find_dropped(view: StreamView) -> tuple[Source, Passes, Parts] | None:
    """Find parts of the baseline's order, whatever it is, that were merged without the rest."""
    if not _is_shorter(view):
        return None
    try:
        found = _find(view, baseline_order(view))
    except CannotTell:
        return None
    if found is None:
        return None
    _, passes, parts = found
    return found if parts.kind == "merge" and passes.tail else None


def _is_shorter(view: StreamView) -> bool:
    """Tell whether the first epoch has fewer rows than the baseline's."""
    if view.baseline is None or not (view.epochs and view.baseline.epochs):
        return False
    own, its = (next(iter(each.epochs.values())) for each in (view, view.baseline))
    return len(view.epoch[own]) < len(view.baseline.epoch[its])


def _workers(view: StreamView) -> int | None:
    workers: int | None = view.declared("workers")
    return workers


def _fault(view: StreamView, source: Source, passes: Passes, parts: Parts, known: Known) -> Fault:
    dropped = np.arange(passes.kept, passes.size)
    if parts.severity is Severity.FAIL or view.baseline is None:
        codes = source.codes[dropped]
        known.missing, known.places = codes[codes >= 0], dropped
    workers = _workers(view)
    counts = sorted(parts.counts, key=lambda count: (count != workers, count))
    base, run = ("a", "b") if view.baseline is not None else ("source", "run")
    whole = f"partition({base}, {counts[0]})"
    formula = {
        "merge": f"{run} = merge({whole})",
        "tail": f"{run} = concatenate({whole})",
        "shuffle": f"{run} = merge(shuffle({whole}))",
        "draws": f"{run} = merge(draw({whole}))",
    }[parts.kind]
    names = _names(view, source, dropped)
    places: list[JsonValue] = dropped[:SHOWN].tolist()
    evidence: dict[str, JsonValue] = {
        **({"dropped_places": places} if names is None else {"dropped": [*names]}),
        "dropped_count": len(dropped),
        "partitions": [*counts],
        "formula": formula,
        "explained_rows": passes.rows,
        "rows": view.rows,
        "undecidable": parts.undecidable,
    }
    if parts.log_chance is not None:
        evidence["log10_chance"] = round(parts.log_chance / math.log(10), 1)
    return Fault(
        severity=parts.severity,
        message=_message(names, len(dropped), passes, parts, counts),
        cause=DROPPED if len(dropped) else WHOLE,
        evidence=evidence,
        confirm=replay_again(view.path, view.stream, workers=1),
    )


def _names(view: StreamView, source: Source, dropped: Integers) -> list[RecordId] | None:
    """Name records that never come; None where each epoch lacks others."""
    own_order = view.baseline is not None and (source.codes[dropped] < 0).any()
    return None if own_order else source.name(view, dropped[:SHOWN])


def _message(
    dropped: list[RecordId] | None, lost: int, passes: Passes, parts: Parts, counts: list[int]
) -> str:
    length = passes.size // counts[0]
    share = f"{counts[0]} contiguous parts of {length} record{'s' if length > 1 else ''}"
    order = {
        "merge": f"The order is a merge of {share}",
        "tail": f"The tail is what {share} leave over, though the order is the source's",
        "shuffle": f"In every epoch they are what {share} leave over",
        "draws": f"In {passes.rows} draws they are what {share} leave over",
    }[parts.kind]
    others = [count for count in counts[1:] if count != counts[0]]
    more = f" ({_list(others)} parts would fit as well)" if others else ""
    doubt = " Something else may explain it as well." if parts.undecidable else ""
    if not lost:
        return f"{order}{more}.{doubt}"
    noun, verb = ("Record", "comes") if lost == 1 else ("Records", "come")
    if dropped is None:
        return f"The last {lost} of each epoch of a never {verb}. {order}{more}.{doubt}"
    return f"{noun} {_list(dropped, lost)} never {verb}. {order}{more}.{doubt}"


def _list(names: Sequence[RecordId], count: int | None = None) -> str:
    shown = [str(name) for name in names[:6]]
    if (count or len(names)) > len(shown):
        return f"{', '.join(shown)}, …"
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
