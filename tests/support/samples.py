"""Results of every kind, as reports get them; what their pictures show comes from real runs."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from detloader.audits import audit
from detloader.findings import (
    AxisOutcome,
    AxisResult,
    Counts,
    DifferenceLevel,
    Finding,
    FirstDifference,
    FirstDifferences,
    NotChecked,
    Outcome,
    Picture,
    Result,
    RunSummary,
    Severity,
    StreamResult,
    Verdict,
)
from detloader.reports import render
from tests.support.runs import write_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "HOSTILE",
    "PAGE",
    "accepted",
    "all_pictures",
    "hostile",
    "rendered_sample",
    "result_of",
    "samples",
]

HOSTILE = [
    "<script>document.title='owned'</script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "</style></svg></script><svg onload=alert(1)>",
    "javascript:alert(1)",
    "{{ 7 * 7 }} {% raise %} ${7*7}",
    "\u202egnp.exe\u202c\u200f\u2066",
    "\x00\x07\x1b[2J\x7f\ufffe",
    "a" * 10_000,
    "::error::%0A::warning::",
    "@octocat #1 | cell | `code` ``` <!-- --> ]]> &amp; &#64;",
    "../../etc/passwd",
    "写真 ünïcode 🙂",
]
"""Texts that a manifest may hold, and that no report may fall for."""

PAGE = """The loader cut its IDs into parts.

## What it catches

An order that is a merge of contiguous parts.
"""

_DIFFERENT = {
    "record": [3, 0, 4, 1, 5, 2, 3, 0],
    "epoch": [0, 0, 0, 0, 0, 0, 1, 1],
    "batch": [0, 0, 1, 1, 2, 2, 0, 0],
    "draws": [1, 2, 3, 4, 5, 6, 7, 8],
    "content": [13, 10, 14, 11, 15, 12, 13, 10],
    "worker": [0, 0, 1, 1, 0, 0, 1, 1],
}
_BASELINE = {
    "record": [0, 1, 2, 3, 4, 5, 6, 7],
    "epoch": [0] * 8,
    "batch": [0, 0, 1, 1, 2, 2, 3, 3],
    "draws": [1, 2, 3, 4, 5, 6, 7, 8],
    "content": [10, 11, 12, 13, 14, 15, 16, 17],
    "worker": [0] * 8,
}


@functools.cache
def samples() -> dict[str, Result]:
    """Give a result of every kind."""
    changed = _changed(all_pictures())
    identical = result_of(Verdict.IDENTICAL, coverage=1.0, differences=Counts(), findings=[])
    several = msgspec.structs.replace(
        changed,
        runs=[*changed.runs, identical.runs[1]],
        comparisons=[changed, identical],
    )
    return {
        "changed": changed,
        "identical": identical,
        "several": several,
        "accepted": accepted(changed),
        "check": _check(),
        "unexplained": _unexplained(),
        "inconclusive": result_of(
            Verdict.INCONCLUSIVE, reason="runs/new has no row yet: audit it when it has some"
        ),
        "replay": _replay(),
        "hostile": _hostile_runs(),
    }


@functools.cache
def rendered_sample(name: str, format_: str) -> str:
    """Give a sample in a format. Drawing takes long, and is done once."""
    return render(format_, samples()[name])


@functools.cache
def all_pictures() -> list[Picture]:
    """Give all pictures of two runs that differ in everything."""
    weights = [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 4.0, 4.0]
    return _pictures(
        (_BASELINE, {"weights": weights, "workers": 0}),
        (_DIFFERENT, {"weights": weights, "workers": 2}),
    )


def _hostile_pictures() -> list[Picture]:
    """Give the pictures of two runs whose every text is hostile."""
    return _pictures(
        ({"record": HOSTILE, "worker": HOSTILE}, {"loader": HOSTILE[0]}),
        (
            {"record": [*HOSTILE[::-1]], "worker": HOSTILE},
            {"loader": HOSTILE[1], "config": {text: text for text in HOSTILE}},
        ),
    )


def _pictures(*runs: tuple[Mapping[str, Any], Mapping[str, Any]]) -> list[Picture]:
    with tempfile.TemporaryDirectory() as folder:
        paths = [
            write_run(Path(folder, str(number)), rows, declared)
            for number, (rows, declared) in enumerate(runs)
        ]
        (stream,) = audit(*paths, pictures=True).streams
    assert not isinstance(stream.pictures, msgspec.UnsetType)
    return stream.pictures


def result_of(
    verdict: Verdict,
    *,
    pictures: Sequence[Picture] = (),
    findings: Sequence[Finding] = (),
    pages: dict[str, str] | None = None,
    **fields: object,
) -> Result:
    """Give the result of an audit with one stream."""
    stream = StreamResult(
        name="main",
        verdict=verdict,
        findings=[*findings],
        asked=["seed-handling", "implicit-partitioning", "race", "content-drift"],
        compared=["record", "epoch", "batch", "draws"],
        pictures=[*pictures] or msgspec.UNSET,
        **fields,  # type: ignore[arg-type] # the same fields as those of a result
    )
    return Result(
        command="audit",
        verdict=verdict,
        runs=[
            RunSummary(path="runs/frozen", rows=10, complete=True, fingerprint="f" * 64),
            RunSummary(path="runs/new", rows=8, complete=True, fingerprint="e" * 64),
        ],
        findings=[*findings],
        streams=[stream],
        pages=pages or {},
        **fields,  # type: ignore[arg-type] # as above
    )


def accepted(result: Result) -> Result:
    """Give the result as a project that knows of the difference gets it."""
    decision = "accepted until 2027-01-01: the old loader goes"
    return msgspec.structs.replace(result, decision=decision, outcome=Outcome.ACCEPTED)


def hostile(text: str) -> Result:
    """Give a result that has a text wherever a manifest's could stand."""
    finding = Finding(
        rule="coverage-hole",
        severity=Severity.FAIL,
        run="b",
        message=f"Record {text} never comes.",
        cause=f"It is {text}.",
        evidence={"record": text, text: [text], "rows": [{text: text}, {text: 1}]},
        confirm=f"detloader show {text}",
    )
    result = result_of(
        Verdict.CHANGED,
        findings=[finding],
        reason=text,
        first_difference=FirstDifference(row=0, epoch=0, batch=0, column=text, a=text, b=1),
        not_compared=[text],
    )
    runs = [msgspec.structs.replace(run, path=text) for run in result.runs]
    streams = [msgspec.structs.replace(stream, name=text) for stream in result.streams]
    return msgspec.structs.replace(result, runs=runs, streams=streams, decision=text)


def _hostile_runs() -> Result:
    pictured = msgspec.structs.replace(hostile(HOSTILE[0]).streams[0], pictures=_hostile_pictures())
    results = [hostile(text) for text in HOSTILE]
    results[0] = msgspec.structs.replace(results[0], streams=[pictured])
    runs = [results[0].runs[0], *(result.runs[1] for result in results)]
    return msgspec.structs.replace(results[0], runs=runs, comparisons=results)


def _changed(pictures: list[Picture]) -> Result:
    return result_of(
        Verdict.CHANGED,
        pictures=pictures,
        coverage=1.0,
        first_difference=FirstDifference(row=1, epoch=0, batch=0, column="record", a=1, b=2),
        differences=Counts(missing=2, moved=3),
        findings=[_fault(), _note()],
        not_checked=[
            NotChecked(rule="content-drift", missing=["content"]),
            NotChecked(rule="stale-cache", missing=["content"]),
        ],
        not_compared=["worker"],
        pages={"implicit-partitioning": PAGE, "race": PAGE},
    )


def _unexplained() -> Result:
    first = FirstDifference(row=1, epoch=0, batch=0, column="record", a=1, b=2)
    levels: FirstDifferences = {
        DifferenceLevel.SET: None,
        DifferenceLevel.ORDER: first,
        DifferenceLevel.BATCHES_AS_SETS: msgspec.structs.replace(first, row=3, batch=1, a=3, b=5),
        DifferenceLevel.BATCHES: first,
        DifferenceLevel.DRAWS: None,
    }
    return result_of(
        Verdict.REORDERED,
        first_difference=first,
        first_differences=levels,
        differences=Counts(moved=3),
        findings=[],
    )


def _fault() -> Finding:
    return Finding(
        rule="implicit-partitioning",
        severity=Severity.FAIL,
        run="b",
        message="Records 8 and 9 never come.",
        cause="The loader split its IDs over 4 workers and dropped the remainder.",
        evidence={
            "formula": "b = merge(partition(a, 4))",
            "explained_rows": 8,
            "rows": 8,
            "dropped": [8, 9],
            "p_chance": 1e-12,
            "parts": [{"part": 0, "rows": 2}, {"part": 1, "rows": 2}],
        },
        confirm="detloader replay runs/frozen --vary workers=1,4",
    )


def _note() -> Finding:
    return Finding(
        rule="race",
        severity=Severity.NOTE,
        message="Both runs share this, so it does not explain the difference.",
        cause="Workers race.",
    )


def _check() -> Result:
    return Result(
        command="check",
        verdict=Verdict.FINDINGS,
        runs=[RunSummary(path="runs/new", rows=8, complete=False, fingerprint=None)],
        findings=[_fault()],
        streams=[StreamResult(name="main", verdict=Verdict.FINDINGS, findings=[_fault()])],
        pages={"implicit-partitioning": PAGE},
    )


def _replay() -> Result:
    axis = AxisResult(
        settings={"workers": 4},
        outcome=AxisOutcome.BROKEN,
        asks="same rows",
        compared_with="runs/frozen",
        verdict=Verdict.REORDERED,
        reason="8 rows in another order",
    )
    changed = result_of(Verdict.REORDERED, differences=Counts(moved=8), findings=[_fault()])
    return msgspec.structs.replace(changed, command="replay", axes=[axis])
