"""What several formats ask of a result: its streams, and how its parts agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detloader.findings import Counts, Outcome, StreamResult, Verdict
from detloader.reports.plain import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from detloader.findings import Finding, NotChecked, Result, RunSummary

__all__ = [
    "ASPECTS",
    "aspects",
    "excused",
    "in_full",
    "lacking",
    "pages_of",
    "rows_told",
    "run_of",
    "streams_of",
]

ASPECTS = ("set", "order", "batches", "draws", "content")
"""In what two runs can differ; columns of the matrix of several runs."""

EXCUSED = frozenset({Outcome.HOLDS, Outcome.ACCEPTED})


def streams_of(result: Result) -> Iterator[tuple[Result, StreamResult]]:
    """Yield every stream of every comparison, with the comparison that it belongs to."""
    for one in result.comparisons or [result]:
        for stream in one.streams or [_alone(one)]:
            yield one, stream


def _alone(result: Result) -> StreamResult:
    """Give what the top level says as a stream, where there is none."""
    return StreamResult(
        name="",
        verdict=result.verdict,
        coverage=result.coverage,
        reason=result.reason,
        first_difference=result.first_difference,
        first_differences=result.first_differences,
        differences=result.differences,
        findings=result.findings,
        not_checked=result.not_checked,
        not_compared=result.not_compared,
    )


def run_of(result: Result, finding: Finding) -> RunSummary:
    """Give the run that a finding is about."""
    return result.runs[0] if finding.run == "a" else result.runs[-1]


def pages_of(result: Result) -> dict[str, str]:
    """Give the page of every rule that found something."""
    pages: dict[str, str] = {}
    for one in [result, *(result.comparisons or [])]:
        pages |= one.pages or {}
    return pages


def excused(result: Result) -> bool:
    """Tell whether a difference does not count: it was accepted, or meets what was asked."""
    return result.outcome in EXCUSED


def in_full(finding: Finding) -> str:
    """Give the message of a finding, and its cause where the message does not have it."""
    if finding.cause and finding.cause not in finding.message:
        return f"{finding.message} {finding.cause}"
    return finding.message


def lacking(not_checked: Sequence[NotChecked]) -> dict[str, list[str]]:
    """Give what was lacking, and the rules that could not be asked without it."""
    rules: dict[str, list[str]] = {}
    for one in not_checked:
        rules.setdefault(", ".join(one.missing), []).append(one.rule)
    return rules


def aspects(stream: StreamResult) -> dict[str, int | None]:
    """Count the rows that differ in each aspect; None where it was not compared."""
    counts = stream.differences or Counts()
    rows = {
        "set": counts.missing + counts.extra + counts.duplicated + counts.substituted,
        "order": counts.moved,
        "batches": counts.batches,
        "draws": counts.draws,
        "content": counts.content,
    }
    known = _known(stream)
    return {name: rows[name] if name in known or rows[name] else None for name in ASPECTS}


def rows_told(aspect: str, rows: int | None) -> str:
    """Say how many rows differ in an aspect.

    In order they are those that were moved, and not all that have another record for that.
    """
    if rows is None:
        return "not compared"
    if not rows:
        return "same"
    return f"{rows:,} moved" if aspect == "order" else plural(rows, "row")


def _known(stream: StreamResult) -> set[str]:
    """Name the aspects in which the rows of a stream were compared."""
    if stream.verdict is Verdict.INCONCLUSIVE or not stream.coverage:
        return set()
    compared = stream.compared or []
    found = {"set", "order"} if "record" in compared else set()
    found |= {"batches"} if "batch" in compared else set()
    found |= {"draws"} if any(name.startswith("draws") for name in compared) else set()
    return found | ({"content"} if {"content", "raw"} & {*compared} else set())
