"""What tests ask of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from detloader.findings import Counts, FirstDifference, Severity

if TYPE_CHECKING:
    from detloader.findings import Finding, Result

__all__ = ["counts_of", "evidence_of", "findings_of", "first_of", "lacking", "loud_rules"]


def findings_of(result: Result, rule: str) -> list[Finding]:
    """Give the findings of one rule."""
    return [finding for finding in result.findings if finding.rule == rule]


def loud_rules(result: Result) -> list[str]:
    """Name the rules with a finding above a note, in order."""
    return [finding.rule for finding in result.findings if finding.severity is not Severity.NOTE]


def lacking(result: Result, rule: str) -> list[str]:
    """Name what a rule lacked."""
    return [
        name for skipped in result.not_checked if skipped.rule == rule for name in skipped.missing
    ]


def evidence_of(finding: Finding) -> dict[str, Any]:
    """Give the evidence, of whatever types."""
    return dict(finding.evidence)


def counts_of(result: Result) -> Counts:
    """Give the counts of an audit."""
    assert isinstance(result.differences, Counts)
    return result.differences


def first_of(result: Result) -> FirstDifference:
    """Give the first difference of an audit that has one."""
    assert isinstance(result.first_difference, FirstDifference)
    return result.first_difference
