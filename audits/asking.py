"""Rules are asked in causal order, and their answers put together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from detloader.audits.rule import CannotTell, Fault, Known, Stage
from detloader.audits.sampled import is_thinned
from detloader.findings import Finding, NotChecked, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from detloader.audits.compare import Comparison
    from detloader.audits.rule import Rule
    from detloader.audits.view import StreamView
    from detloader.manifest.reader import Stream

__all__ = [
    "Answers",
    "ask_about_difference",
    "ask_about_headers",
    "ask_about_run",
    "shared_last",
]

EVERY_ROW = "every row of an epoch"
"""What rules lack that do not hold for a part of the rows."""

SHARED_EPOCH = "an epoch that both runs have"
"""What rules lack that compare two runs, row by row."""


@dataclass(slots=True)
class Answers:
    """What rules said.

    Attributes:
        findings: in causal order.
        not_checked: the rules that lacked a field, or evidence, and found nothing.
        asked: names of the rules that had a question.
        beside: what rules found that does not explain why two runs differ.
    """

    findings: list[Finding] = field(default_factory=list)
    not_checked: list[NotChecked] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    beside: list[Finding] = field(default_factory=list)

    def add(
        self,
        rule: Rule,
        findings: Sequence[Finding],
        missing: Iterable[str],
        beside: Sequence[Finding] = (),
    ) -> None:
        """Take the answer of one rule."""
        self.asked.append(rule.name)
        self.findings += findings
        self.beside += beside
        lacking = list(dict.fromkeys(missing))
        if lacking and not findings and not beside:
            self.not_checked.append(NotChecked(rule=rule.name, missing=lacking))


def ask_about_run(rules: Sequence[Rule], view: StreamView) -> Answers:
    """Ask the rules about one stream of one run."""
    answers, known = Answers(), Known()
    for rule in rules:
        if rule.check_run is None:
            continue
        faults, missing = _ask_run(rule, view, known)
        answers.add(rule, [_finding(rule, None, fault) for fault in faults], missing)
    return answers


def ask_about_headers(rules: Sequence[Rule], a: Stream, b: Stream) -> Answers:
    """Ask the rules that look at headers alone."""
    answers = Answers()
    for rule in rules:
        faults, missing = _ask(rule.compare_headers, a, b)
        answers.add(rule, [_finding(rule, "b", fault) for fault in faults], missing)
    return answers


def ask_about_difference(
    rules: Sequence[Rule], a: StreamView, b: StreamView, comparison: Comparison
) -> Answers:
    """Ask the rules about two streams whose rows differ.

    A fault that both runs share cannot explain the difference, nor can one that shows only where
    they differ already: it becomes a note, and stands behind what can.
    """
    answers, known_a, known_b = Answers(), Known(), Known()
    together = _share_an_epoch(comparison)
    for rule in rules:
        of_headers, no_headers = _ask(rule.compare_headers, a.stream, b.stream)
        # Where headers answered, they did for both runs.
        of_a, no_a = ([], []) if of_headers else _ask_run(rule, a, known_a)
        of_b, no_b = ([], []) if of_headers else _ask_run(rule, b, known_b)
        of_both, no_both = _ask_runs(rule, comparison, known_b, together=together)
        findings = [_finding(rule, "b", fault) for fault in of_headers if not fault.shared]
        beside = [_shared(rule, fault) for fault in of_headers if fault.shared]
        of_one, shared = _sort_out(rule, of_a, of_b)
        beside += shared
        if rule.may_explain is None or rule.may_explain(comparison):
            findings += of_one
        else:
            beside += map(_behind, of_one)
        findings += [_finding(rule, "a" if fault.of_baseline else "b", fault) for fault in of_both]
        answers.add(rule, findings, [*no_headers, *no_a, *no_b, *no_both], beside)
        if any(finding.severity is not Severity.NOTE for finding in findings):
            for known in (known_a, known_b):
                if rule.stage is Stage.STREAMS:
                    known.copied = True
                else:
                    known.causes.append(rule.name)
    answers.findings += answers.beside
    return answers


def _ask_run(rule: Rule, view: StreamView, known: Known) -> tuple[list[Fault], list[str]]:
    if rule.check_run is None or (is_thinned(view.stream) and not rule.of_parts):
        return [], [EVERY_ROW] if rule.check_run else []
    from detloader.audits.sampled_rows import in_full, in_order

    plain = in_order(view)
    faults, missing = _ask(rule.check_run, plain, known)
    if plain is view or faults or not missing:
        return faults, missing
    return _ask(rule.check_run, in_full(view), known)


def _ask_runs(
    rule: Rule, comparison: Comparison, known: Known, *, together: bool
) -> tuple[list[Fault], list[str]]:
    streams = comparison.a.stream, comparison.b.stream
    if rule.compare_runs and any(map(is_thinned, streams)) and not rule.of_parts:
        return [], [EVERY_ROW]
    if rule.compare_runs and not together:
        return [], [SHARED_EPOCH]
    return _ask(rule.compare_runs, comparison, known)


def _share_an_epoch(comparison: Comparison) -> bool:
    """Tell whether any row could be the other run's: rows of other epochs are other rows."""
    from detloader.audits.integers import distinct, overlap

    a, b = comparison.a, comparison.b
    return not (a.rows and b.rows) or bool(overlap(distinct(a.epoch), distinct(b.epoch)))


def _ask(
    question: Callable[..., Iterable[Fault]] | None, *subjects: object
) -> tuple[list[Fault], list[str]]:
    if question is None:
        return [], []
    try:
        return list(question(*subjects)), []
    except CannotTell as answer:
        return [], answer.missing


def _sort_out(
    rule: Rule, of_a: list[Fault], of_b: list[Fault]
) -> tuple[list[Finding], list[Finding]]:
    """Return the findings of one run alone, and those that both share."""
    shared = {fault.cause for fault in of_a} & {fault.cause for fault in of_b}
    findings = [_finding(rule, "b", fault) for fault in of_b if fault.cause not in shared]
    findings += [_finding(rule, "a", fault) for fault in of_a if fault.cause not in shared]
    return findings, [_shared(rule, fault) for fault in of_b if fault.cause in shared]


def _finding(rule: Rule, run: str | None, fault: Fault) -> Finding:
    return Finding(
        rule=rule.name,
        severity=fault.severity,
        run=run,
        message=fault.message,
        cause=fault.cause,
        evidence=fault.evidence,
        confirm=fault.confirm,
    )


def _shared(rule: Rule, fault: Fault) -> Finding:
    return _as_note(_finding(rule, None, fault), "Both runs share this")


def _behind(finding: Finding) -> Finding:
    return _as_note(finding, "The runs differ before this shows")


def _as_note(finding: Finding, why: str) -> Finding:
    message = f"{why}, so it does not explain the difference. {finding.message}"
    return msgspec.structs.replace(finding, severity=Severity.NOTE, message=message)


def shared_last(findings: Iterable[Finding]) -> list[Finding]:
    """Put what both runs of an audit share behind all else that was found."""
    return sorted(findings, key=lambda finding: finding.run is None)
