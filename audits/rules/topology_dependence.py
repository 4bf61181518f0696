"""What is delivered depends on the number of workers, threads or ranks.

## What it catches

Two runs that declare another number of workers, threads or ranks, another start
method, or `persistent_workers` in one of them, and nothing else otherwise, and that do
not deliver the same.

## Why it hurts

The result is a function of the machine. A rerun on a smaller node is another
experiment, and a comparison of two machines compares two data orders.

## Example

Each worker has a stream of its own, so that draws depend on how many there are:

    1 worker    record 3: draws 2432
    2 workers   record 3: draws 1421

## How to mend it

Derive draws from seed, epoch and record instead of from the worker. Shuffle, filter
and batch before the work is dealt to workers, or after it is brought together again.
Torch draws a seed for its workers from the generator of the loader, in each epoch or, of
persistent workers, in the first one alone: give the sampler a generator of its own.

## Evidence

- `fields`: the topology that differs, each with the value of the baseline and of the
  other run.
- `same`, `other`: which of records, order, batches, draws and content stay the same,
  and which do not. Draws and content are compared record by record.
- `delivered`: rows of both runs.
- `missing`, `extra`: IDs that only one of the runs has, 20 at most; `missing_count`,
  `extra_count`: all of them.
- `equal`: what both runs declare alike.

## Limits

Needs one of `workers`, `threads`, `world_size`, `start_method` and
`config.persistent_workers` in both runs, that differs. Does not speak where source,
seed or partition explain the difference, where copies of one random generator explain
that draws differ and nothing else does, where all that differs are rows that are marked as
padding, where only the place in a global batch or the
rank differs, where each epoch of one run is the beginning of the other's, which was
merely left earlier, or where a few records hold other bytes and nothing else differs,
which is content drift. Where a setting, a version or a restart differs as well, it
cannot tell; nor where a seed is unknown, unless each worker of one run keeps the order
of the other.

## Seen in

torch (draws of map-style data sets), grain (`batch` or `filter` before `mp_prefetch`),
datasets, pytorch/pytorch#7068, meta-pytorch/data#1180.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.confirm import replay_again
from detloader.audits.integers import distinct
from detloader.audits.measures.added import without_marked_rows
from detloader.audits.measures.aspects import aspects_of, is_beginning
from detloader.audits.measures.conditions import (
    PERSISTENCE,
    UNKNOWN,
    declared_of,
    equal_conditions,
    is_unexplained,
    require_equal_seeds,
    require_no_other,
    topology_differences,
    version_differences,
)
from detloader.audits.measures.parts_in_order import keeps_order_of_parts
from detloader.audits.measures.shown import show_records
from detloader.audits.rule import CannotTell, Example, Fault, Stage
from detloader.findings import Severity

if TYPE_CHECKING:
    from detloader.audits.compare import Comparison
    from detloader.audits.measures.aspects import Aspects
    from detloader.audits.rule import Known
    from detloader.findings import JsonValue
    from detloader.manifest.reader import Stream

__all__ = ["EXAMPLE", "STAGE", "compare_runs"]

STAGE = Stage.TOPOLOGY

EXAMPLE = Example(
    baseline={"record": [2, 0, 3, 1], "draws": [91, 82, 73, 64]},
    faulty={"record": [2, 0, 3, 1], "draws": [91, 55, 82, 46]},
    mended={"record": [2, 0, 3, 1], "draws": [91, 82, 73, 64]},
    declared={"shuffle": True, "seed": 1, "source_size": 4, "workers": 2},
    baseline_declared={"workers": 0},
)

FEW = 0.05
"""Share of rows with other bytes up to which the bytes drifted, and were not drawn otherwise."""


def compare_runs(comparison: Comparison, known: Known) -> list[Fault]:
    """Find a difference that follows the topology."""
    comparison = without_marked_rows(comparison)
    if not is_unexplained(comparison, known):
        return []
    a, b = comparison.a.stream, comparison.b.stream
    fields = topology_differences(a, b)
    if not fields:
        _require_workers(a, b)
        return []
    aspects = aspects_of(comparison)
    if not aspects.other or (aspects.other == ("content",) and _drifted(comparison)):
        return []
    if known.copied and {*aspects.other} <= {"draws", "content"}:
        return []
    if is_beginning(comparison):
        return []
    if not keeps_order_of_parts(comparison):
        require_equal_seeds(a, b, random="draws" in aspects.other)
    require_no_other(a, b, " and ".join(fields), [*version_differences(a, b)])
    return [_fault(comparison, fields, aspects)]


def _require_workers(a: Stream, b: Stream) -> None:
    """Make sure that it is known whether the field that most often differs does."""
    if UNKNOWN in {declared_of(a, "workers"), declared_of(b, "workers")}:
        raise CannotTell("workers")


def _drifted(comparison: Comparison) -> bool:
    """Tell whether other content is a matter of its own, and not of draws that nobody recorded."""
    return "draws" in comparison.a.compared or comparison.drifted.mean() <= FEW


def _fault(comparison: Comparison, fields: dict[str, JsonValue], aspects: Aspects) -> Fault:
    a, b, alignment = comparison.a, comparison.b, comparison.alignment
    evidence: dict[str, JsonValue] = {
        "fields": fields,
        **aspects.evidence(),
        "delivered": [a.rows, b.rows],
        "equal": equal_conditions(a.stream, b.stream),
    }
    for name, view, matched in (("missing", a, alignment.rows_a), ("extra", b, alignment.rows_b)):
        left = np.ones(view.rows, dtype=np.bool_)
        left[matched] = False
        evidence |= show_records(name, view, distinct(view.record.values[left]))
    changed = " and ".join(f"{name} {_both(values)}" for name, values in fields.items())
    lost = f" {a.rows - b.rows} rows fewer are delivered." if a.rows > b.rows else ""
    field, values = next(iter(fields.items()))
    return Fault(
        severity=Severity.FAIL,
        message=f"With {changed} and all else equal, {aspects.sentence()}.{lost}",
        cause=f"The loader's result is a function of {' and '.join(fields)}.",
        evidence=evidence,
        confirm=None
        if field == PERSISTENCE
        else replay_again(b.path, b.stream, **{field: _pair(values)[0]}),
    )


def _both(values: JsonValue) -> str:
    return " instead of ".join(map(str, reversed(_pair(values))))


def _pair(values: JsonValue) -> list[JsonValue]:
    return values if isinstance(values, list) else [values]
