"""The result of a preflight, as reports render it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from detloader.audits.engine import audit, summary
from detloader.audits.preflight.decision import Decision, decide, of_finding
from detloader.audits.preflight.experiment import experiment
from detloader.audits.preflight.findings import asides, blocks, races
from detloader.audits.preflight.purpose import with_purpose
from detloader.audits.rule import rule_names
from detloader.findings import Finding, NotChecked, Result, RunSummary, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from detloader.audits.frozen import Difference
    from detloader.audits.preflight.control import Control
    from detloader.audits.preflight.question import Question
    from detloader.manifest.reader import Run

__all__ = ["CANDIDATE", "compared", "silent", "undecided", "unseen"]

CANDIDATE = "candidate"
"""What stands for the path of its run."""

_NAMED = 5
_NO_ROWS = "rows of the frozen run: name it with --run"
_NOTHING = RunSummary(path=CANDIDATE, rows=0, complete=False, fingerprint=None)


def compared(
    question: Question, control: Control, baseline: Run, candidate: Run, *, repeats: bool
) -> Result:
    """Answer where the rows of both runs are known.

    Args:
        question: what is asked.
        control: what came of running the recipe where it was frozen.
        baseline: the frozen rows.
        candidate: what the candidate delivers.
        repeats: whether it delivers the same each time.
    """
    ((name, stream),) = candidate.streams.items()
    candidate = with_purpose(candidate, question.stream.declared)
    baseline = with_purpose(baseline, question.stream.declared, stream.declared)
    result = audit(
        baseline,
        candidate,
        select=question.select,
        ignore=question.ignore,
        pictures=question.pictures,
    )
    found = [*races(control, repeats=repeats), *result.findings]
    more = asides(question, control, candidate)
    if result.verdict is Verdict.INCONCLUSIVE:
        return _answered(result, None, result.reason, [*found, *more])
    decision = decide(result.verdict, found)
    changes = experiment(*((run.path, run.streams[name]) for run in (baseline, candidate)))
    reason = "; ".join(filter(None, [result.reason, _because(question, decision, found)]))
    return _answered(result, decision, reason, [*map(_decided, found), *changes, *more])


def unseen(
    question: Question, control: Control, candidate: Run, differences: Sequence[Difference]
) -> Result:
    """Answer where the frozen rows are gone: from digests alone."""
    reason = f"what the difference is cannot be told: {_NO_ROWS}; until then {_stay(question)}"
    findings = [_decided(blocks(differences)), *asides(question, control, candidate)]
    result = msgspec.structs.replace(
        _without_rows(question, Verdict.CHANGED, summary(candidate)),
        not_checked=[NotChecked(rule=rule, missing=[_NO_ROWS]) for rule in rule_names()],
    )
    return _answered(result, Decision.PIN, reason, findings)


def silent(question: Question, why: str) -> Result:
    """Answer where the candidate delivers nothing, while the frozen run comes out again."""
    result = _without_rows(question, Verdict.CHANGED, _NOTHING)
    return _answered(result, Decision.PIN, f"{why}; {_stay(question)}", [])


def undecided(question: Question, why: str, findings: Sequence[Finding] = ()) -> Result:
    """Answer where nothing follows."""
    result = _without_rows(question, Verdict.INCONCLUSIVE, _NOTHING)
    return _answered(result, None, why, findings)


def _because(question: Question, decision: Decision, findings: Iterable[Finding]) -> str:
    if decision is Decision.KEEP:
        return "what was frozen comes out: nothing has to change"
    rules = [finding.rule for finding in findings if of_finding(finding) is decision]
    named = ", ".join(dict.fromkeys(rules))
    if decision is Decision.MIGRATE:
        return (
            f"the frozen run has faults that the candidate mends ({named}): accept the change "
            f"with `detloader preflight {question.file} --accept REASON`, or stay to repeat the "
            "run as it was"
        )
    if named:
        return f"the candidate brings in what the frozen run has not ({named}): {_stay(question)}"
    return f"the candidate delivers something else, and mends no fault: {_stay(question)}"


def _stay(question: Question) -> str:
    """Say what has to be pinned."""
    pins = question.pins
    if len(pins) > _NAMED:
        pins[_NAMED:] = [f"{len(pins) - _NAMED} more versions that {question.file} names"]
    return f"stay with {', '.join(pins)}" if pins else "stay with what was frozen"


def _decided(finding: Finding) -> Finding:
    """Say of a finding what it asks for; its command would name runs that are not kept."""
    evidence = {**finding.evidence, "decision": of_finding(finding).value}
    return msgspec.structs.replace(finding, evidence=evidence, confirm=None)


def _answered(
    result: Result, decision: Decision | None, reason: str | None, findings: Sequence[Finding]
) -> Result:
    told = {"findings": [*findings], "reason": reason}
    return msgspec.structs.replace(
        result,
        command="preflight",
        decision=decision and decision.value,
        streams=[msgspec.structs.replace(stream, **told) for stream in result.streams],
        **told,
    )


def _without_rows(question: Question, verdict: Verdict, candidate: RunSummary) -> Result:
    """Answer from no rows, so that no rule could be asked."""
    ranks = question.stream.ranks.values()
    frozen = RunSummary(
        path=question.file,
        rows=sum(rank.rows for rank in ranks),
        complete=True,
        fingerprint=question.frozen.fingerprint,
    )
    return Result(
        command="preflight",
        verdict=verdict,
        coverage=0.0,
        runs=[frozen, candidate],
        first_difference=None,
    )
