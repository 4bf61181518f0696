"""The answer in a sentence."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from detloader.findings import Counts, Severity, Verdict
from detloader.reports.plain import plural, printable

if TYPE_CHECKING:
    from detloader.findings import Result, RunSummary

__all__ = ["headline", "summary"]


def headline(result: Result) -> str:
    """Return verdict and meaning in one line, with control characters escaped."""
    if result.comparisons:
        return printable(f"{result.verdict}: {summary(result)}")
    return printable(f"{result.verdict}: {_meaning(result)}")


def summary(result: Result) -> str:
    """Return how several runs compare with the baseline."""
    comparisons = result.comparisons or []
    counts = Counter(comparison.verdict for comparison in comparisons)
    each = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if verdict in counts)
    return f"{plural(len(comparisons), 'run')} compared with {result.runs[0].path}: {each}"


def _meaning(result: Result) -> str:
    match result.verdict:
        case Verdict.INCONCLUSIVE:
            return result.reason or "nothing could be compared"
        case Verdict.CLEAN:
            return f"no rule finds fault with the {_rows(result.runs[0])} of {result.runs[0].path}"
        case Verdict.FINDINGS:
            return f"{_severities(result)} in the {_rows(result.runs[0])} of {result.runs[0].path}"
    a, b = result.runs[0], result.runs[1]
    sentence = f"{b.path} {_relation(result, a)}"
    if result.coverage and result.coverage < 1:
        sentence += f"; {result.coverage:.1%} of the rows could be compared"
    return sentence


def _relation(result: Result, a: RunSummary) -> str:
    """Say how the other run stands to the baseline."""
    match result.verdict:
        case Verdict.IDENTICAL:
            proof = "every block was read" if result.verified else "as recorded"
            return f"has the same {_rows(a)} as {a.path} ({proof})"
        case Verdict.EQUIVALENT:
            return (
                f"has the same global batches as {a.path}, with its rows on other ranks or places"
            )
        case Verdict.REGROUPED:
            return f"has the same {_rows(a)} as {a.path} in the same order, in other batches"
        case Verdict.REORDERED:
            return f"has the same records as {a.path}, in another order"
    return _change(result.differences or Counts(), a)


def _change(counts: Counts, a: RunSummary) -> str:
    parts = [_records(counts, a)]
    if counts.duplicated:
        parts.append(f"{counts.duplicated:,} of them too often")
    if counts.moved:
        parts.append("in another order")
    if counts.content:
        parts.append(f"with other content in {plural(counts.content, 'row')}")
    if counts.draws:
        parts.append(f"with other draws in {plural(counts.draws, 'row')}")
    return ", ".join(parts)


def _records(counts: Counts, a: RunSummary) -> str:
    if counts.missing:
        kept = a.rows - counts.missing
        base = f"has {kept:,} of the {a.rows:,} records of {a.path}"
        return f"{base} and {plural(counts.extra, 'other')}" if counts.extra else base
    if counts.extra:
        return f"has all {a.rows:,} records of {a.path} and {counts.extra:,} more"
    return f"has the records of {a.path}"


def _severities(result: Result) -> str:
    counts = Counter(finding.severity for finding in result.findings)
    return ", ".join(
        f"{counts[severity]} {severity}" for severity in reversed(Severity) if severity in counts
    )


def _rows(run: RunSummary) -> str:
    return plural(run.rows, "row")
