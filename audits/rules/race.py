"""Order or draws depend on which reader is ready first.

## What it catches

Two runs of one configuration with the same records, whose order was only changed by
delivery: readers keep the order of their own shard, or of their own contiguous part
of the source, and are interleaved otherwise; or each worker of one run has the order of
the other run; or records stand near their places in the other run, though not on them.
And runs of one order in which readers take their draws from one generator: the draws are
the same ones, on other records. One of the runs may be declared to keep its order, and
the other one not.

## Why it hurts

The seed does nothing. A run cannot be repeated, and a difference between two runs
says nothing about what was changed between them.

## Example

Four readers, each of which keeps its order:

    run a   8 16 24 25 0 1 26
    run b   24 8 0 9 10 25 11

## How to mend it

Ask for deterministic delivery (`deterministic=True`, `in_order=True`, ordered maps and
pools). Derive a generator for each record from seed, epoch and record instead of sharing
one among threads. Where speed is worth it, declare `deterministic` false in both runs: it is a note
then, and a warning where one run alone declares it.

## Evidence

- `what`: "order" or "draws".
- `trace`: "shards", "parts", "workers", "displacement", "exchanged-draws", or "exclusion":
  draws of few values, which only threads are left to explain.
- `groups`: shards, parts or workers whose inner order is kept.
- `moved`: rows outside the longest common order, or rows with other draws.
- `largest_displacement`: the farthest that a row, or a draw, stands from its place.
- `shared_draws`: of exchanged draws, how many both runs took.
- `threads`, `workers`, `deterministic`: as declared by the baseline, where they are; `fields`:
  `deterministic` of the baseline and of the other run, where they differ.
- `log10_chance`: decimal logarithm of the chance that a shuffle leaves this trace.
- `equal`: what both runs declare alike.

## Limits

Is silent where seeds, topology or versions explain the difference, and where runs
were resumed. A program that merges its sources by a random choice, or by another rule, leaves the
same traces of an order, and a transform that was moved those of draws. So a race is told only
where something shows that readers ran beside one another: two `threads` or `workers`, several of
them in the column `worker`, or `deterministic` false. Where both runs declare `deterministic`
true, `shard` or `worker` must show that the promise was broken. Draws do not race where each
reader keeps their order: they were shifted, see `rng-coupling`. Needs `shard`, `worker`, or IDs
or an `index` that are source positions, or enough rows to tell a short way from a shuffle; one
`shard` for all rows tells nothing. Shards that follow one another whole were shuffled, not
raced. A third run of the same configuration confirms a race.

## Seen in

tensorflow/tensorflow#34180 (`interleave` with `deterministic=False`);
webdataset/webdataset#122; ray-project/ray#58658; zea 0.1.0 with eight threads.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from detloader.audits.confirm import replay_again
from detloader.audits.measures.conditions import (
    equal_conditions,
    is_unexplained,
    require_no_other,
    topology_differences,
    version_differences,
)
from detloader.audits.measures.delivery import (
    LANES,
    displacements,
    find_delivery,
    has_same_records,
    tell_trace,
)
from detloader.audits.measures.exchange import find_exchange
from detloader.audits.rule import CannotTell, Example, Fault, Stage
from detloader.findings import Severity, Verdict

if TYPE_CHECKING:
    from detloader.audits.compare import Comparison
    from detloader.audits.rule import Known
    from detloader.findings import JsonValue

__all__ = ["EXAMPLE", "STAGE", "compare_runs"]

STAGE = Stage.RACE

EXAMPLE = Example(
    baseline={
        "record": [0, 8, 1, 2, 9, 3, 10, 11, 4, 5, 12, 6, 13, 14, 7, 15],
        "shard": [0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 1],
    },
    faulty={
        "record": [8, 0, 9, 1, 10, 2, 3, 4, 11, 12, 13, 5, 6, 14, 7, 15],
        "shard": [1, 0, 1, 0, 1, 0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 1],
    },
    mended={
        "record": [0, 8, 1, 2, 9, 3, 10, 11, 4, 5, 12, 6, 13, 14, 7, 15],
        "shard": [0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 1],
    },
    declared={"shuffle": False, "source_size": 16, "threads": 2},
)


PROMISE = "deterministic"
"""Whether a run is to keep its order, as declared."""

READERS = "threads or workers"
"""What nothing shows where a trace is found, and no readers that may have left it."""


def compare_runs(comparison: Comparison, known: Known) -> list[Fault]:
    """Find orders and draws that delivery changed."""
    if not is_unexplained(comparison, known) or not has_same_records(comparison):
        return []
    a, b = comparison.a.stream, comparison.b.stream
    evidence = _delivery(comparison) or _exchange(comparison)
    if (
        evidence is None
        and (_is_parallel(comparison) or not _keep_order(comparison))
        and comparison.counts.moved
        and not (comparison.a.has("shard") and comparison.b.has("shard"))
    ):
        raise CannotTell("shard")
    if evidence is None:
        return []
    others = [*topology_differences(a, b), *version_differences(a, b)]
    require_no_other(a, b, "time", others, but=(PROMISE,))
    return [_fault(comparison, evidence)]


def _delivery(comparison: Comparison) -> dict[str, JsonValue] | None:
    found = find_delivery(comparison)
    if found is None or comparison.verdict is Verdict.REGROUPED:
        return None
    if found.trace == "displacement" and _changes_ranks(comparison):
        return None
    if found.trace not in LANES and _keep_order(comparison):
        return None
    if found.trace != "workers" and not _is_parallel(comparison):
        raise CannotTell(READERS)
    evidence: dict[str, JsonValue] = {
        "what": "order",
        "trace": found.trace,
        "moved": comparison.counts.moved,
        "largest_displacement": int(displacements(comparison).max()),
        "log10_chance": round(found.log_chance / math.log(10), 1),
    }
    return {**evidence, "groups": found.groups} if found.groups else evidence


def _exchange(comparison: Comparison) -> dict[str, JsonValue] | None:
    found = find_exchange(comparison)
    if found is not None and not _is_parallel(comparison):
        raise CannotTell(READERS)  # a transform that was moved before a shuffle draws so, too
    return found


def _changes_ranks(comparison: Comparison) -> bool:
    """Tell whether records come from other ranks: readers race inside one process."""
    a, b, alignment = comparison.a, comparison.b, comparison.alignment
    return bool((a.rank[alignment.rows_a] != b.rank[alignment.rows_b]).any())


def _is_parallel(comparison: Comparison) -> bool:
    """Tell whether a run is known to have had readers that can be ready in any order."""
    readers = [
        run.declared(name) or 0
        for run in (comparison.a, comparison.b)
        for name in ("threads", "workers")
    ]
    return max(readers) > 1 or False in _promises(comparison)


def _keep_order(comparison: Comparison) -> bool:
    """Tell whether both runs promise their order."""
    return _promises(comparison) == [True, True]


def _promises(comparison: Comparison) -> list[bool | None]:
    return [run.declared(PROMISE) for run in (comparison.a, comparison.b)]


def _fault(comparison: Comparison, evidence: dict[str, JsonValue]) -> Fault:
    a, b = comparison.a, comparison.b
    for name in ("threads", "workers", PROMISE):
        if a.declared(name) is not None:
            evidence[name] = a.declared(name)
    promises = _promises(comparison)
    severity, told = Severity.FAIL, ""
    if promises == [False, False]:
        severity, told = Severity.NOTE, " That was declared."
    elif {*promises} == {True, False}:
        severity = Severity.WARN
        told = f" Run {'ab'[promises.index(False)]} alone is declared to give its order up."
        evidence["fields"] = {PROMISE: [*promises]}
    evidence["equal"] = equal_conditions(a.stream, b.stream)
    return Fault(
        severity=severity,
        message=_message(evidence) + told,
        cause="Readers deliver in the order in which they finish."
        if evidence["what"] == "order"
        else "Readers share one generator and take from it in the order in which they come.",
        evidence=evidence,
        confirm=replay_again(b.path, b.stream),
    )


def _message(evidence: dict[str, JsonValue]) -> str:
    farthest = evidence["largest_displacement"]
    if evidence["what"] == "draws":
        return (
            f"The order is the same and {evidence['moved']} records have other draws; "
            f"{evidence['shared_draws']} draws are in both runs, on whichever record, and no seed, "
            "version or topology differs."
        )
    kept = tell_trace(str(evidence["trace"]), evidence.get("groups"))
    return f"The same records come in another order, at most {farthest} places away: {kept}."
