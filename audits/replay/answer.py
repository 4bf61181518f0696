"""The result of a replay, as reports render it."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from detloader.audits.engine import BADNESS, summary
from detloader.audits.equivalence import describe_counts
from detloader.audits.replay.control import ALIKE
from detloader.audits.replay.course import by_axes
from detloader.audits.replay.drift import drift, edited
from detloader.audits.replay.expectations import Asks
from detloader.audits.replay.vary import spell
from detloader.findings import (
    AxisOutcome,
    AxisResult,
    Counts,
    Finding,
    Result,
    Severity,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detloader.audits.replay.control import Control
    from detloader.audits.replay.course import Tried
    from detloader.audits.replay.shrink import Case
    from detloader.audits.replay.vary import Variation
    from detloader.findings import JsonValue
    from detloader.manifest.reader import Run

__all__ = ["judged", "unjudged"]


def unjudged(recorded: Run, control: Control) -> Result:
    """Answer where the unvaried replay shows nothing to compare with."""
    printed = "".join(f"; it printed: {line}" for line in control.last_lines[-1:])
    return Result(
        command="replay",
        verdict=Verdict.INCONCLUSIVE,
        reason=f"{control.reason}{printed}",
        runs=[summary(recorded)],
        findings=edited(recorded, control),
    )


def judged(
    recorded: Run,
    control: Control,
    tried: Sequence[Tried],
    *,
    asked: Case,
    smallest: Case | None,
    kept: bool,
) -> Result:
    """Answer with what came of each condition.

    Args:
        recorded: the run that was replayed.
        control: its unvaried replay.
        tried: the conditions.
        asked: what was asked for beside them.
        smallest: the smallest case of the first that broke the run.
        kept: whether the runs of the replays stay where they are.
    """
    broken = [each for each in tried if each.broken]
    findings = [
        _finding(members, None if at else smallest, asked, control, recorded.path)
        for at, members in enumerate(by_axes(tried))
    ]
    difference = _difference(control.recorded) if control.recorded else ""
    findings += drift(recorded, control, difference, [each.name for each in broken])
    verdicts = [each.answer.result.verdict for each in broken if each.answer and each.answer.result]
    if control.recorded is not None:
        verdicts.append(control.recorded.verdict)
    verdict = max(verdicts, key=BADNESS.__getitem__, default=Verdict.IDENTICAL)
    untold = None if findings else _untold(tried)
    return Result(
        command="replay",
        verdict=Verdict.INCONCLUSIVE if untold else verdict,
        reason=untold,
        runs=[summary(recorded)],
        findings=findings,
        axes=[_axis_result(each, recorded.path, kept=kept) for each in tried],
    )


def _untold(tried: Sequence[Tried]) -> str | None:
    """Say which conditions tell nothing; None where each does."""
    died = [each for each in tried if each.answer is not None and each.answer.holds is None]
    left = [each for each in tried if each.answer is None]
    said = []
    if died:
        said.append(f"{', '.join(map(str, died))} died")
    if left:
        said.append(f"{', '.join(map(str, left))} could not be tried, for the budget was spent")
    return "; ".join(said) or None


def _axis_result(tried: Tried, compared_with: str, *, kept: bool) -> AxisResult:
    answer = tried.answer
    told = AxisResult(
        settings={each.axis.name: each.value for each in tried.variations},
        outcome=AxisOutcome.NOT_RUN,
        asks=tried.asks,
        compared_with=compared_with,
    )
    if answer is None:
        return msgspec.structs.replace(told, reason="the budget was spent before")
    if answer.result is None:
        return msgspec.structs.replace(
            told,
            outcome=AxisOutcome.DIED,
            reason=answer.replayed.died,
            last_lines=answer.replayed.last_lines,
        )
    return msgspec.structs.replace(
        told,
        outcome=AxisOutcome.HOLDS if answer.holds else AxisOutcome.BROKEN,
        verdict=answer.result.verdict,
        reason=_difference(answer.result) or None,
        findings=[] if answer.holds else [_without_command(f) for f in answer.result.findings],
        run=answer.replayed.run if kept else None,
    )


def _without_command(finding: Finding) -> Finding:
    """Leave out a command that names runs which are not kept."""
    return msgspec.structs.replace(finding, confirm=None)


def _finding(
    members: Sequence[Tried], smallest: Case | None, asked: Case, control: Control, path: str
) -> Finding:
    """Say what breaks the run: one set of axes, with one value or several that do."""
    tried = members[0]
    assert tried.answer is not None
    assert tried.answer.result is not None
    result = tried.answer.result
    named = [each.axis.name for each in tried.variations]
    changed = " and ".join(_changed(each, control) for each in tried.variations)
    told = next((f for f in result.findings if _tells_more(f)), None)
    evidence: dict[str, JsonValue] = {"asked_for": tried.asks, "verdict": result.verdict}
    if told is not None:
        evidence["rule"] = told.rule
    if smallest is not None:
        evidence["smallest_case"] = smallest.description
    if len(members) > 1:
        evidence["broken_by"] = [str(each) for each in members]
    unstable = " Run again, it gives other rows each time." * (tried.name in control.unstable)
    case = smallest or replace(asked, variations=tried.variations)
    return Finding(
        rule="+".join(named),
        severity=Severity.FAIL,
        message=f"With {changed}, {_what(tried, result)}.",
        cause=f"{told.message if told else _cause(tried.asks, named)}{unstable}",
        evidence=evidence,
        confirm=shlex.join(["detloader", "replay", path, *case.words]),
    )


def _tells_more(finding: Finding) -> bool:
    """Tell whether a finding says more than that the result follows what was varied."""
    return finding.severity is not Severity.NOTE and finding.rule != "topology-dependence"


def _changed(variation: Variation, control: Control) -> str:
    current = variation.axis.current(control.job)
    return str(variation) if current is None else f"{variation} instead of {spell(current)}"


def _what(tried: Tried, result: Result) -> str:
    if tried.asks is Asks.OTHER_ROWS:
        return "the rows are the same"
    return _difference(result) or f"the run is {result.verdict}"


def _difference(result: Result) -> str:
    """Say what differs; empty where nothing does."""
    counted = describe_counts(result.differences or Counts())
    if counted or result.verdict in ALIKE:
        return counted
    if result.reason:
        return result.reason
    first = result.first_difference or None
    return f"{first.column} differs from row {first.row} on" if first else ""


def _cause(asks: Asks, named: Sequence[str]) -> str:
    if asks is Asks.OTHER_ROWS:
        return "The seed has no effect."
    together = " together" if len(named) > 1 else ""
    return f"What the loader delivers follows {' and '.join(named)}{together}."
