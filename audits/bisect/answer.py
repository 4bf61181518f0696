"""The result of a bisection, as reports render it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec
from packaging.version import Version

from detloader.audits.engine import audit
from detloader.audits.equivalence import describe_counts
from detloader.audits.preflight.purpose import with_purpose
from detloader.audits.replay.control import ALIKE
from detloader.audits.replay.expectations import Asks
from detloader.findings import (
    AxisOutcome,
    AxisResult,
    Counts,
    Finding,
    Result,
    RunSummary,
    Severity,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detloader.audits.bisect.search import Boundary
    from detloader.audits.frozen import Frozen
    from detloader.findings import JsonValue
    from detloader.manifest.reader import Run
    from detloader.manifest.schema import Declared

__all__ = ["Question", "Tried", "judged", "unjudged"]

RULE = "bisect"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Attributes:
        file: what is frozen.
        package: the package whose releases are tried.
        version: the frozen one.
        declared: what was declared of the frozen run.
        pictures: whether the answer has what pictures are drawn from.
    """

    file: str
    package: str
    version: str
    declared: Declared
    pictures: bool


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of a release.

    Attributes:
        version: the release.
        run: what was delivered; None where nothing was.
        verdict: how that compares with what the frozen release delivers.
        why: why nothing was delivered.
    """

    version: str
    run: Run | None = None
    verdict: Verdict | None = None
    why: str | None = None


def unjudged(file: str, frozen: Frozen, reason: str) -> Result:
    """Answer where the frozen versions do not deliver what was frozen."""
    (stream,) = frozen.streams.values()
    summary = RunSummary(
        path=file,
        rows=sum(rank.rows for rank in stream.ranks.values()),
        complete=True,
        fingerprint=frozen.fingerprint,
    )
    return Result(command="bisect", verdict=Verdict.INCONCLUSIVE, reason=reason, runs=[summary])


def passed_over(package: str, tried: Sequence[Tried]) -> str:
    """Say which releases could not be tried, and why; empty where each could."""
    passed = [f"{package} {each.version} ({each.why})" for each in tried if each.run is None]
    return f"passed over: {'; '.join(passed)}" if passed else ""


def judged(
    question: Question, baseline: Run, boundary: Boundary[str], tried: Sequence[Tried]
) -> Result:
    """Answer with the release at the boundary.

    Args:
        question: what was asked.
        baseline: what the frozen release delivers.
        boundary: the release that differs, and the last before it that does not.
        tried: what came of each release, in order of trial.
    """
    package = question.package
    runs = {each.version: each.run for each in tried if each.run is not None}
    shown = boundary.different or [*runs][-1]
    result = audit(
        *(
            with_purpose(replace(run, path=f"{package} {version}"), question.declared)
            for version, run in ((question.version, baseline), (shown, runs[shown]))
        ),
        pictures=question.pictures,
    )
    findings = [_without_command(finding) for finding in result.findings]
    if boundary.different is None:
        oldest, *_, newest = sorted([question.version, *runs], key=Version)
        decision = f"no release of {package} from {oldest} to {newest} changes what is delivered"
    else:
        newer = max(boundary.same, boundary.different, key=Version)
        decision = (
            f"{package} {newer} changed what is delivered: the last that delivers the frozen rows "
            f"is {boundary.same}, the first that does not {boundary.different}"
        )
        findings.insert(0, _finding(question, boundary.same, boundary.different, result, [*runs]))
    reasons = filter(None, [result.reason, passed_over(package, tried)])
    told = {"findings": findings, "reason": "; ".join(reasons) or None}
    return msgspec.structs.replace(
        result,
        command="bisect",
        decision=decision,
        axes=[_axis_result(question, each) for each in tried],
        streams=[msgspec.structs.replace(stream, **told) for stream in result.streams],
        **told,
    )


def _finding(
    question: Question, same: str, different: str, result: Result, tried: list[JsonValue]
) -> Finding:
    package = question.package
    older, newer = sorted([same, different], key=Version)
    counted = describe_counts(result.differences or Counts()) or f"the run is {result.verdict}"
    words = ["preflight", question.file, "--with", f"{package}=={different}"]
    return Finding(
        rule=RULE,
        severity=Severity.FAIL,
        message=f"{package} {newer} does not deliver what {older} does: {counted}.",
        cause=f"What the loader delivers follows the version of {package}.",
        evidence={"last_same": same, "first_different": different, "tried": tried},
        confirm=shlex.join(["detloader", *words]),
    )


def _without_command(finding: Finding) -> Finding:
    """Leave out a command that names runs which are not kept."""
    return msgspec.structs.replace(finding, confirm=None)


def _axis_result(question: Question, tried: Tried) -> AxisResult:
    outcome = AxisOutcome.HOLDS if tried.verdict in ALIKE else AxisOutcome.BROKEN
    return AxisResult(
        settings={question.package: tried.version},
        outcome=AxisOutcome.DIED if tried.run is None else outcome,
        asks=Asks.SAME_ROWS,
        compared_with=f"{question.package} {question.version}",
        verdict=tried.verdict,
        reason=tried.why,
    )
