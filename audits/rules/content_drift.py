"""The same record holds other bytes.

## What it catches

A record whose raw bytes, or whose delivered content under equal draws, are not
the same in each epoch of a run, or not the same in two runs. Content is looked at
where the raw bytes are the same, too.

## Why it hurts

Order and seeds are equal, and the model still trains on other data. Nothing in
a log of the order shows it.

## Example

Record 3 was fixed upstream between two runs under the same name:

    record  raw of run a  raw of run b
    2       33823645      33823645
    3       96177093      88820654

## How to mend it

Pin the revision of the data and check it by digest. A file handle that was
opened before workers were forked is read by all of them at one position: open
it in the worker. A cached array that a transform changes in place must be
copied first.

## Evidence

- `column`: "raw" or "content".
- `records`: IDs of records that changed, 20 at most; `records_count`: all of them.
- `rows`: delivered rows whose bytes are not those of the baseline, or of the
  record's first delivery.
- `epochs`, `workers`: where these rows were delivered; workers only where recorded.
- `undecidable`: between two runs, whether an augmentation whose draws nobody saw may have
  made the content of all these rows. It may not where any has recorded draws, in evaluations,
  and where these records are at most one in four, and come again in both runs with the content
  that they had: an augmentation that is seeded for each record gives it to most records.

## Limits

Needs `raw`, or `content`. Where no draws were recorded, other content may be
another augmentation: then it speaks only in evaluations, where at most one record in
twenty changed within a run, where records that came more than once show that content is
fixed, or, where `raw` was not recorded either, where both runs declare one seed or at most
one row in four changed, unless these are all rows of some epochs. One seed, or few rows, do
not tell the source from an augmentation: that is said, and `undecidable`.
That goes for the rows without draws, too, though others have some: between two runs where
such records change within one of them. Within a run it speaks of these as well where content
changed at one point of the run, and was kept before and after it.
Draws that were taken for the samples of a batch at once (`config.draws_of` "batch") are
known for each record only where batches are as large in both runs.
Where an entry of `config` differs, which may ask for other content, or where the seeds differ
and more than one row in four has other content, which nobody's draws explain, it cannot tell.
That records have each other's bytes, as where IDs are places in a listing, is left to an
earlier cause where there is one. Where all that several ranks deliver in an epoch has
other content on each, these may be other records of the same IDs: it cannot tell.

## Seen in

huggingface/datasets#3792, #5039, #4788 (changed upstream); h5py handles over
fork; in-place transforms on cached arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.confirm import show
from detloader.audits.headers import holds_nothing
from detloader.audits.integers import contains, distinct
from detloader.audits.measures.conditions import EQUAL_SEEDS, require_equal_arguments
from detloader.audits.measures.local_ids import SHARED_IDS, are_local
from detloader.audits.measures.seeds import have_other_seeds
from detloader.audits.measures.shown import SHOWN, listed, show_records
from detloader.audits.measures.unseen_draws import (
    changes_unseen,
    is_fixed,
    may_be_drawn,
    may_follow_seeds,
    unlike_first,
    without_unseen_draws,
)
from detloader.audits.rule import CannotTell, Example, Fault, Stage
from detloader.findings import Severity

if TYPE_CHECKING:
    from detloader.audits.columns import Column, Integers
    from detloader.audits.compare import Comparison
    from detloader.audits.rule import Known
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue

__all__ = ["EXAMPLE", "OF_PARTS", "STAGE", "check_run", "compare_runs"]

STAGE = Stage.CONTENT
OF_PARTS = True

EXAMPLE = Example(
    baseline={"record": [0, 1, 2, 3], "raw": [70, 71, 72, 73]},
    faulty={"record": [0, 1, 2, 3], "raw": [70, 71, 72, 99]},
    mended={"record": [1, 0, 2, 3], "raw": [71, 70, 72, 73]},
    declared={"shuffle": False, "source_size": 4},
)


def check_run(view: StreamView, known: Known) -> list[Fault]:
    """Find records whose bytes change within the run."""
    columns = [
        name
        for name in ("raw", "content")
        if view.has(name) and not holds_nothing(view.stream, name)
    ]
    if not columns:
        raise CannotTell("raw or content")
    if view.record.is_distinct:
        return []
    faults: list[Fault] = []
    for column in columns:
        other = unlike_first(view, column)
        if known.drifted is not None:  # other raw bytes make other content
            other &= ~contains(known.drifted, view.record.values)
        if not other.any():
            continue
        changed = distinct(view.record.values[other])
        if view.ranks > 1 and are_local(view, changed):
            raise CannotTell(SHARED_IDS)
        if column == "content":
            other = without_unseen_draws(view, other)
            if not other.any() and faults:
                break
            if not other.any():
                raise CannotTell("draws")
            changed = distinct(view.record.values[other])
        known.drifted = changed if known.drifted is None else np.union1d(known.drifted, changed)
        faults.append(_fault_within(view, column, np.flatnonzero(other)))
    return faults


def _fault_within(view: StreamView, column: str, rows: Integers) -> Fault:
    content = column == "content"
    in_place = content and view.has("raw")
    cause = "The bytes of a record change while the run is going on"
    if in_place:
        cause = "A transform changes what it was given in place, and a cache gives it again"
    if content and view.declared("purpose") != "eval":
        cause += ", or a transform draws from a generator that nobody saw"
    return _fault(
        view,
        column,
        rows,
        cause=f"{cause}.",
        where="later deliveries"
        + (" under equal draws" if content and view.has("draws") else "")
        + " differ from the first"
        + (", and the raw bytes do not" if in_place else ""),
    )


def compare_runs(comparison: Comparison, known: Known) -> list[Fault]:
    """Find records whose bytes differ between two runs."""
    a, b, alignment = comparison.a, comparison.b, comparison.alignment
    column = "raw" if "raw" in a.compared else "content"
    if column not in a.compared:
        raise CannotTell("raw or content")
    rows_a, rows_b = alignment.rows_a[comparison.drifted], alignment.rows_b[comparison.drifted]
    if known.drifted is not None:
        fresh = ~contains(known.drifted, b.record.values[rows_b])
        rows_a, rows_b = rows_a[fresh], rows_b[fresh]
    if not len(rows_b):
        return []
    if column == "raw":
        other = ~a.compared["raw"].take(rows_a).equals(b.compared["raw"].take(rows_b))
        if other.any():
            rows_a, rows_b = rows_a[other], rows_b[other]
        else:
            column = "content"
    exchanged = _are_exchanged(a.compared[column].take(rows_a), b.compared[column].take(rows_b))
    if exchanged and known.causes:
        return []
    if column == "content" and "draws" not in a.compared and not is_fixed(comparison):
        raise CannotTell("draws")
    if column == "content" and any(map(changes_unseen, (a, b))):
        seen = ~a.column("draws").missing()[rows_a]
        rows_a, rows_b = rows_a[seen], rows_b[seen]
        if not len(rows_b):
            raise CannotTell("draws")
    require_equal_arguments(a.stream, b.stream)
    undecidable = column == "content" and not exchanged and _is_undecidable(comparison, rows_a)
    return [
        _fault(
            b,
            column,
            rows_b,
            cause=_cause(exchanged=exchanged, undecidable=undecidable),
            where="the baseline has them under others of these records"
            if exchanged
            else "the baseline has other bytes",
            undecidable=undecidable,
        )
    ]


def _is_undecidable(comparison: Comparison, rows: Integers) -> bool:
    """Tell whether an augmentation whose draws nobody saw may have made the content of rows of a.

    Raises:
        CannotTell: it may, and the runs have other seeds, so that nothing else need be looked for.
    """
    a, b = comparison.a, comparison.b
    if not may_be_drawn(a, b, rows):
        return False
    if have_other_seeds(a.stream, b.stream) and may_follow_seeds(comparison):
        raise CannotTell(EQUAL_SEEDS)
    return True


def _cause(*, exchanged: bool, undecidable: bool) -> str:
    if exchanged:
        return "The source is listed in another order, or its names were exchanged."
    if undecidable:
        return (
            "An augmentation whose draws nobody saw, the source, or how it is read gives other "
            "bytes for the same records: nothing in these runs tells which."
        )
    return "The source, or how it is read, gives other bytes for the same records."


def _are_exchanged(a: Column, b: Column) -> bool:
    """Tell whether most changed rows hold what other changed records held."""
    return len(b.values) > 1 and contains(a.values, b.values).mean() > 0.5  # noqa: PLR2004


def _fault(
    view: StreamView,
    column: str,
    rows: Integers,
    *,
    cause: str,
    where: str,
    undecidable: bool | None = None,
) -> Fault:
    records = distinct(view.record.values[rows])
    named = view.identify(records[:SHOWN])
    evidence: dict[str, JsonValue] = {
        "column": column,
        **show_records("records", view, records),
        "rows": len(rows),
        "epochs": distinct(view.epoch[rows])[:SHOWN].tolist(),
    }
    if undecidable is not None:
        evidence["undecidable"] = undecidable
    if view.has("worker"):
        workers = view.column("worker").take(rows)
        evidence["workers"] = [workers.show_value(value) for value in np.unique(workers.values)]
    one = len(records) == 1
    what, verb = ("Record", "has") if one else (f"{len(records)} records:", "have")
    shown = listed(named, len(records))
    count = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
    return Fault(
        severity=Severity.FAIL,
        message=f"{what} {shown} {verb} other {column} bytes in {count}: {where}.",
        cause=cause,
        evidence=evidence,
        confirm=show(view.path, record=named[0]),
    )
