"""The answer in a sentence."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from detloader.findings import Counts, Severity, Verdict
from detloader.reports.axes import replay_meaning
from detloader.reports.changes import changes, has_records
from detloader.reports.plain import plural, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from detloader.findings import Result, RunSummary, StreamResult

__all__ = ["PARTIAL", "decision", "headline", "summary"]

PARTIAL = "as far as both were recorded"
"""What follows a verdict that cannot speak for all rows."""


def headline(result: Result) -> str:
    """Return verdict and meaning in one line, with control characters escaped."""
    if result.comparisons:
        return printable(f"{result.verdict}: {summary(result)}")
    return printable(f"{_claim(result)}: {_meaning(result)}")


def decision(result: Result) -> str:
    """Return what was decided about a result, with control characters escaped."""
    return printable(result.decision or "")


def summary(result: Result) -> str:
    """Return how several runs compare with the baseline."""
    comparisons = sorted(result.comparisons or [], key=lambda one: [*Verdict].index(one.verdict))
    counts = Counter(map(_claim, comparisons))
    each = ", ".join(f"{count} {claim}" for claim, count in counts.items())
    return f"{plural(len(comparisons), 'run')} compared with {result.runs[0].path}: {each}"


def _claim(result: Result) -> str:
    return f"{result.verdict} {PARTIAL}" if _is_partial(result) else str(result.verdict)


def _meaning(result: Result) -> str:
    if result.command == "replay":
        return replay_meaning(result)
    match result.verdict:
        case Verdict.INCONCLUSIVE:
            return result.reason or "nothing could be compared"
        case Verdict.CLEAN | Verdict.FINDINGS:
            return "; ".join([_found(result), *([result.reason] if result.reason else [])])
    a, b = result.runs[0], result.runs[1]
    if (beginning := _beginning(result)) is not None:
        return f"the {beginning} are the same in {b.path} and {a.path}"
    return "; ".join([f"{b.path} {_relation(result, a)}", *_limits(result)])


def _found(result: Result) -> str:
    rows = f"the {_rows(result.runs[0])} of {result.runs[0].path}"
    if result.verdict is Verdict.CLEAN:
        return f"no rule finds fault with {rows}"
    return f"{_severities(result)} in {rows}"


def _relation(result: Result, a: RunSummary) -> str:
    """Say how the other run stands to the baseline; counts of rows only where all are known."""
    rows = _rows(a) if all(map(_is_whole, _parts(result))) else "rows"
    match result.verdict:
        case Verdict.IDENTICAL:
            proof = "every block was read" if result.verified else "as recorded; blocks not read"
            return f"has the same {rows} as {a.path} ({proof})"
        case Verdict.EQUIVALENT:
            return (
                f"has the same global batches as {a.path}, with its rows on other ranks or places"
            )
        case Verdict.REGROUPED:
            return f"has the same {rows} as {a.path} in the same order, in other batches"
        case Verdict.REORDERED:
            return f"has the same records as {a.path}, in another order"
    counts = _counts(result)
    if counts == Counts():
        return _other_values(result, a)
    return has_records(counts, a) if rows != "rows" else changes(counts, a)


def _other_values(result: Result, a: RunSummary) -> str:
    """Say what differs where no row is counted: a digest, or a column that has no counter."""
    if result.reason and result.command == "preflight":
        return f"differs from {a.path}"  # the reason follows, with the decision
    if result.reason:
        return f"differs from {a.path}: {result.reason}"
    column = f" in {result.first_difference.column}" if result.first_difference else ""
    return f"has the records of {a.path}, with other values{column}"


def _limits(result: Result) -> Iterator[str]:
    """Yield what the sentence cannot speak for."""
    parts = _parts(result)
    if _is_partial(result):
        lowest = min(coverage for coverage in map(_coverage, parts) if coverage)
        of = "the rows of a stream" if len(parts) > 1 else "the rows"
        yield f"{_percent(lowest)} of {of} could be compared"
    elif unfinished := [run.path for run in result.runs[:2] if not run.complete]:
        paths = dict.fromkeys(unfinished)
        yield f"{' and '.join(paths)} {'is' if len(paths) == 1 else 'are'} not complete"
    if len(parts) > 1:
        unjudged = [part.name for part in result.streams if part.verdict is Verdict.INCONCLUSIVE]
        yield from (f"stream {name} could not be compared" for name in unjudged)


def _beginning(result: Result) -> str | None:
    """Return which rows are the same, where they are all that the shorter run has.

    Rows that were lost are in the coverage, and not in the counts of rows: then it is None.
    """
    if result.verdict is not Verdict.IDENTICAL or result.reason or not _is_partial(result):
        return None
    shorter, longer = sorted(run.rows for run in result.runs[:2])
    whole = math.isclose(_coverage(result) * longer, shorter, rel_tol=1e-12)
    if len(result.streams) > 1 or not whole:
        return None
    return f"first {shorter:,} of {plural(longer, 'row')}"


def _parts(result: Result) -> list[StreamResult] | list[Result]:
    return result.streams or [result]


def _coverage(part: StreamResult | Result) -> float:
    return 1.0 if isinstance(part.coverage, msgspec.UnsetType) else part.coverage


def _is_partial(result: Result) -> bool:
    """Tell whether some rows could be compared, and others could not."""
    return any(0 < _coverage(part) < 1 for part in _parts(result))


def _is_whole(part: StreamResult | Result) -> bool:
    """Tell whether every row is accounted for; those of a stream that one run lacks are."""
    lonely = _coverage(part) == 0 and (part.differences or Counts()) != Counts()
    return _coverage(part) == 1 or lonely


def _counts(result: Result) -> Counts:
    """Return the counts of all streams together."""
    each = [msgspec.structs.asdict(part.differences or Counts()) for part in _parts(result)]
    return Counts(**{name: sum(counts[name] for counts in each) for name in each[0]})


def _severities(result: Result) -> str:
    counts = Counter(finding.severity for finding in result.findings)
    return ", ".join(
        f"{counts[severity]} {severity}" for severity in reversed(Severity) if severity in counts
    )


def _percent(share: float) -> str:
    """Return a share that is neither none nor all, and does not look like it."""
    return f"{min(max(share, 0.001), 0.999):.1%}"


def _rows(run: RunSummary) -> str:
    return plural(run.rows, "row")
