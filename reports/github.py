"""Annotations of a GitHub Actions run: a line for the verdict, and one for each finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detloader.findings import Severity, Verdict
from detloader.reports.parts import excused, in_full, run_of, streams_of
from detloader.reports.plain import shortened
from detloader.reports.sentences import decision, headline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from detloader.findings import Result

__all__ = ["render"]

MOST = 9
"""Findings that are annotated at each level: GitHub shows ten lines of a step, ours has one."""

LONGEST = 4_000
"""Characters of a message; GitHub cuts longer ones."""

_LEVELS = {Severity.FAIL: "error", Severity.WARN: "warning", Severity.NOTE: "notice"}
_ALIKE = frozenset({Verdict.IDENTICAL, Verdict.EQUIVALENT, Verdict.CLEAN})


def render(result: Result, *, limit: int = 10, color: bool = False) -> str:  # noqa: ARG001 - no lists, no colours
    """Return workflow commands, one a line."""
    told = "; ".join(filter(None, (headline(result), decision(result))))
    verdict, _, meaning = told.partition(": ")
    lines = [_command(_level(result), f"detloader: {verdict}", meaning)]
    shown: dict[str, int] = {}
    for level, title, message in _findings(result):
        shown[level] = shown.get(level, 0) + 1
        if shown[level] <= MOST:
            lines.append(_command(level, title, message))
    return "\n".join(lines) + "\n"


def _level(result: Result) -> str:
    if excused(result) or result.verdict in _ALIKE:
        return "notice"
    if result.verdict is Verdict.INCONCLUSIVE:
        return "warning"
    if result.verdict is Verdict.FINDINGS:
        return _LEVELS[max((f.severity for f in result.findings), key=lambda each: each.rank)]
    return "error"


def _findings(result: Result) -> Iterator[tuple[str, str, str]]:
    for one, stream in streams_of(result):
        for finding in stream.findings:
            level = "notice" if excused(one) else _LEVELS[finding.severity]
            yield level, f"{finding.rule} in {run_of(one, finding).path}", in_full(finding)


def _command(level: str, title: str, message: str) -> str:
    """Return a workflow command; nothing in it can end it, or begin another."""
    return f"::{level} title={_escaped(title, ':', ',')}::{_escaped(message)}"


def _escaped(text: str, *marks: str) -> str:
    shown = shortened(text, LONGEST)
    for mark in ("%", *marks):
        shown = shown.replace(mark, f"%{ord(mark):02X}")
    return shown
