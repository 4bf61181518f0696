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

## Limits

Needs `raw`, or `content`. Where no draws were recorded, other content may be
another augmentation: then it speaks only in evaluations, where at most one record in
twenty changed within a run, where records that came more than once show that content is
fixed, or, where `raw` was not recorded either, where both runs declare one seed or at most
one row in four changed, unless these are all rows of some epochs.
That goes for the rows without draws, too, though others have some: between two runs where
such records change within one of them. Within a run it speaks of these as well where content
changed at one point of the run, and was kept before and after it.
Draws that were taken for the samples of a batch at once (`config.draws_of` "batch") are
known for each record only where batches are as large in both runs.
Where an entry of `config` differs, which may ask for other content, it cannot tell.
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
from detloader.audits.integers import (
    are_distinct,
    contains,
    distinct,
    first_rows,
    repeated,
    slices,
    tally,
)
from detloader.audits.measures.conditions import are_drawn_together, require_equal_arguments
from detloader.audits.measures.local_ids import SHARED_IDS, are_local
from detloader.audits.measures.shown import SHOWN, listed, show_records
from detloader.audits.rule import CannotTell, Example, Fault, Stage
from detloader.findings import Severity

if TYPE_CHECKING:
    from detloader.audits.columns import Column, Flags, Integers
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

FEW = 0.05
"""Share of records up to which changes in a run are faults although draws are unknown."""

FEW_BETWEEN_RUNS = 0.25
"""Share of rows up to which changes between runs are, for a seeded augmentation is in all rows."""

CHANCE = 1e-6
"""Chance below which no augmentation kept all content before and after one point of a run."""


def check_run(view: StreamView, known: Known) -> list[Fault]:
    """Find records whose bytes change within the run."""
    columns = [name for name in ("raw", "content") if view.has(name)]
    if not columns:
        raise CannotTell("raw or content")
    if view.record.is_distinct:
        return []
    faults: list[Fault] = []
    for column in columns:
        other = _unlike_first(view, column)
        if known.drifted is not None:  # other raw bytes make other content
            other &= ~contains(known.drifted, view.record.values)
        if not other.any():
            continue
        changed = distinct(view.record.values[other])
        if view.ranks > 1 and are_local(view, changed):
            raise CannotTell(SHARED_IDS)
        if column == "content":
            other = _without_unseen_draws(view, other)
            if not other.any() and faults:
                break
            if not other.any():
                raise CannotTell("draws")
            changed = distinct(view.record.values[other])
        known.drifted = changed if known.drifted is None else np.union1d(known.drifted, changed)
        faults.append(_fault_within(view, column, np.flatnonzero(other)))
    return faults


def _without_unseen_draws(view: StreamView, other: Flags) -> Flags:
    """Leave out the rows that an augmentation whose draws nobody saw may have changed."""
    if view.declared("purpose") == "eval":
        return other
    # A generator that a transform makes for each sample is seen by nobody: no draws, new content.
    seen = ~view.column("draws").missing() if view.has("draws") else np.zeros_like(other)
    changed = other & ~seen
    if _are_few(view, changed, ~seen) or (seen.any() and _changed_at_once(view, ~seen)):
        return other
    return other & seen


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


def _unlike_first(view: StreamView, name: str) -> Flags:
    """Tell which rows hold other bytes than the first row of the same record and draws."""
    other = np.zeros(view.rows, dtype=np.bool_)
    if name == "content" and view.has("draws"):
        if view.column("draws").is_distinct:
            return other
        again, first = _first_of_same_draws(view)
        column = view.column(name)
        other[again] = ~column.take(again).equals(column.take(first))
    else:
        column, first_of = view.column(name), first_rows(view.record.values)
        for rows in slices(view.rows):
            other[rows] = ~column.take(rows).equals(column.take(first_of(rows)))
    return other & ~column.missing()


def _first_of_same_draws(view: StreamView) -> tuple[Integers, Integers]:
    """Give the rows whose draws come again, and for each the first of its record and draws."""
    draws = view.column("draws")
    rows = np.flatnonzero(repeated(draws.values))
    keys = [key[rows] for key in (draws.values, draws.missing(), view.record.values)]
    order = np.lexsort(keys)
    fresh = np.ones(len(rows), dtype=np.bool_)
    fresh[1:] = np.logical_or.reduce([key[order][1:] != key[order][:-1] for key in keys])
    first = np.maximum.accumulate(np.where(fresh, np.arange(len(rows)), 0))
    return rows[order], rows[order[first]]


def _are_few(view: StreamView, changed: Flags, unseen: Flags) -> bool:
    counts = tally(view.record.values[unseen])[1]
    return len(distinct(view.record.values[changed])) <= FEW * int((counts > 1).sum())


def _changed_at_once(view: StreamView, unseen: Flags) -> bool:
    """Tell whether content changed at one point of the run, and was kept before and after it.

    An augmentation that changed as many records there would have changed some elsewhere.
    """
    content, records = view.column("content"), view.record.values
    rows = np.flatnonzero(unseen & ~content.missing())
    rows = rows[np.argsort(records[rows], kind="stable")]
    again = records[rows[1:]] == records[rows[:-1]]
    before, after = rows[:-1][again], rows[1:][again]
    changed = ~content.take(before).equals(content.take(after))
    point = int(after[changed].min())
    across = (before < point) & (point <= after)
    if (changed & ~across).any():
        return False
    kept = 1 - changed.sum() / across.sum()
    return bool(kept ** int((~across).sum()) < CHANCE)


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
    if column == "content" and "draws" not in a.compared and not _is_fixed(comparison):
        raise CannotTell("draws")
    if column == "content" and any(map(_changes_unseen, (a, b))):
        seen = ~a.column("draws").missing()[rows_a]
        rows_a, rows_b = rows_a[seen], rows_b[seen]
        if not len(rows_b):
            raise CannotTell("draws")
    require_equal_arguments(a.stream, b.stream)
    return [
        _fault(
            b,
            column,
            rows_b,
            cause="The source is listed in another order, or its names were exchanged."
            if exchanged
            else "The source, or how it is read, gives other bytes for the same records.",
            where="the baseline has them under others of these records"
            if exchanged
            else "the baseline has other bytes",
        )
    ]


def _changes_unseen(view: StreamView) -> bool:
    """Tell whether records without draws change within a run, as by an augmentation."""
    if not view.has("draws"):
        return False
    hidden = view.column("draws").missing()
    if not hidden.any():  # sorting long runs takes seconds
        return False
    changed = _unlike_first(view, "content") & hidden
    return bool(changed.any()) and not _are_few(view, changed, hidden)


def _are_exchanged(a: Column, b: Column) -> bool:
    """Tell whether most changed rows hold what other changed records held."""
    return len(b.values) > 1 and contains(a.values, b.values).mean() > 0.5  # noqa: PLR2004


def _is_fixed(comparison: Comparison) -> bool:
    """Tell whether content does not depend on draws, or draws must be the same."""
    a, b = comparison.a, comparison.b
    if a.declared("purpose") == b.declared("purpose") == "eval":
        return True
    if _comes_again(a) and not any(_unlike_first(view, "content").any() for view in (a, b)):
        return True
    if "raw" in a.compared or _is_bound_to_epochs(comparison):
        return False  # the bytes are the same, or draws are likelier to change with the epoch
    if are_drawn_together(a.stream) or are_drawn_together(b.stream):
        return False
    seeded_alike = a.declared("seed") is not None and a.declared("seed") == b.declared("seed")
    if seeded_alike and not comparison.counts.moved:  # draws may follow the place
        return True
    return float(comparison.drifted.mean()) <= FEW_BETWEEN_RUNS


def _is_bound_to_epochs(comparison: Comparison) -> bool:
    """Tell whether all content of some epochs differs, and none of others."""
    epoch = comparison.a.epoch[comparison.alignment.rows_a]
    numbers = np.unique(epoch, return_inverse=True)[1]
    share = np.bincount(numbers, comparison.drifted) / np.bincount(numbers)
    return bool(share.max() > 1 - FEW and share.min() < FEW)


def _comes_again(view: StreamView) -> bool:
    """Tell whether records come in several epochs, each of which could draw anew."""
    if not view.has("epoch"):
        return view.declared("replacement") is not True and not view.record.is_distinct
    epochs = [distinct(view.record.values[rows]) for rows in view.epochs.values()]
    return not are_distinct(np.concatenate(epochs))


def _fault(view: StreamView, column: str, rows: Integers, *, cause: str, where: str) -> Fault:
    records = distinct(view.record.values[rows])
    named = view.identify(records[:SHOWN])
    evidence: dict[str, JsonValue] = {
        "column": column,
        **show_records("records", view, records),
        "rows": len(rows),
        "epochs": distinct(view.epoch[rows])[:SHOWN].tolist(),
    }
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
