"""Another version of a library gives another stream for the same seed.

## What it catches

Two runs that differ only in the versions of libraries that orders and draws depend
on, and that deliver another order, other draws, or not all records. And two runs of
which one asked a loader of detloader for the order of another version: its
`compatibility`.

## Why it hurts

Permutations and distributions are rewritten between releases, and nobody promised
that they stay. A frozen experiment cannot be repeated after an upgrade, and a result
that changed with it is blamed on the model.

## Example

    numpy 1.16.6   seed 0   11 22 10 2
    numpy 2.4.6    seed 0   2 11 25 21

## How to mend it

Pin the version, or migrate knowingly: `detloader freeze` the experiment, and
`detloader preflight` it with the new version. `detloader bisect` names the release.

## Evidence

- `versions`: the packages that differ, each with the version of the baseline and of
  the other run; or `compatibility`: what either run asked for, null for detloader's
  own.
- `same`, `other`: which of records, order, batches, draws and content stay the same,
  and which do not. Draws and content are compared record by record.
- `dropped`: IDs that the other run never delivers, 20 at most; `dropped_count`: all
  of them; left out where there are none. `added`, `added_count`: the same of the
  baseline.
- `equal`: what both runs declare alike.

## Limits

Needs the versions of both runs, and says nothing where they are equal, or where a
source, a seed or the topology explains the difference. Where settings or a restart
differ as well, it cannot tell. Packages that only read and decode are left to
content-drift. Equal rows under other versions are no finding.

## Seen in

numpy/numpy#16493, pytorch/pytorch#10979, jax-ml/jax#13346, albumentations#2473;
grain 0.2.13, which drops the remainder of shards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from detloader.audits.integers import lacking
from detloader.audits.measures.aspects import aspects_of, is_cut_short
from detloader.audits.measures.conditions import (
    config_differences,
    equal_conditions,
    is_unexplained,
    require_equal_seeds,
    require_no_other,
    topology_differences,
    version_differences,
)
from detloader.audits.measures.explained import explain_missing
from detloader.audits.measures.shown import show_records
from detloader.audits.rule import CannotTell, Example, Fault, Stage
from detloader.findings import Severity

if TYPE_CHECKING:
    from detloader.audits.compare import Comparison
    from detloader.audits.rule import Known
    from detloader.findings import JsonValue
    from detloader.manifest.reader import Stream

__all__ = ["EXAMPLE", "STAGE", "compare_runs"]

STAGE = Stage.VERSION

EXAMPLE = Example(
    baseline={"record": [3, 0, 2, 1, 4]},
    faulty={"record": [1, 4, 0, 3, 2]},
    mended={"record": [3, 0, 2, 1, 4]},
    declared={"shuffle": True, "seed": 0, "source_size": 5, "versions": {"numpy": "2.4.6"}},
    baseline_declared={"versions": {"numpy": "1.16.6"}},
)


def compare_runs(comparison: Comparison, known: Known) -> list[Fault]:
    """Find a difference that follows the versions."""
    if not is_unexplained(comparison, known):
        return []
    a, b = comparison.a.stream, comparison.b.stream
    asked = config_differences(a, b)
    if asked.keys() == {"compatibility"}:
        return [_fault(comparison, {"compatibility": asked["compatibility"]}, known)]
    versions = version_differences(a, b)
    if not versions:
        _require_versions(a, b)
        return []
    aspects = aspects_of(comparison)
    if set(aspects.other) <= {"content", "batches"} or is_cut_short(comparison):
        return []
    require_equal_seeds(a, b, random="draws" in aspects.other)
    require_no_other(a, b, "versions", [*topology_differences(a, b)])
    return [_fault(comparison, {"versions": versions}, known)]


def _require_versions(a: Stream, b: Stream) -> None:
    for stream in (a, b):
        if not stream.declared.versions and not stream.environment.versions:
            raise CannotTell("versions")


def _fault(comparison: Comparison, differing: dict[str, JsonValue], known: Known) -> Fault:
    a, b, alignment = comparison.a, comparison.b, comparison.alignment
    aspects = aspects_of(comparison)
    dropped = lacking(a.record.values, b.record.values)
    added = lacking(b.record.values, a.record.values)
    if len(dropped):
        explain_missing(known, dropped)
    evidence: dict[str, JsonValue] = {**differing, **aspects.evidence()}
    for name, records in (("dropped", dropped), ("added", added)):
        if len(records):
            evidence |= show_records(name, a, records)
    evidence["equal"] = equal_conditions(a.stream, b.stream)
    lost = f" {len(dropped)} records are never delivered." if len(dropped) else ""
    fewer = len(alignment.rows_a) < a.rows
    return Fault(
        severity=Severity.FAIL if fewer else Severity.WARN,
        message=f"{_what_differs(differing)} and all else is equal: {aspects.sentence()}.{lost}",
        cause=_cause(differing),
        evidence=evidence,
    )


def _what_differs(differing: dict[str, JsonValue]) -> str:
    versions = differing.get("versions")
    if isinstance(versions, dict):
        pairs = "; ".join(f"{name} {_both(values)}" for name, values in versions.items())
        return f"Versions differ ({pairs})"
    return f"Compatibility differs ({_both(differing['compatibility'])})"


def _cause(differing: dict[str, JsonValue]) -> str:
    versions = differing.get("versions")
    if isinstance(versions, dict):
        return f"The stream for one seed changed between versions of {' or '.join(versions)}."
    return "One run asked for the order of another version, the other one did not."


def _both(values: JsonValue) -> str:
    if not isinstance(values, list):
        return str(values)
    return " and ".join("none" if value is None else str(value) for value in values)
