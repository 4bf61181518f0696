"""The answer for one stream of which only the first difference is wanted.

Where headers tell which blocks differ, one of these and the one before it are read, however
long the runs are. What that cannot tell is said to be so: the counts are left out, and every
rule is listed as not checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from detloader.audits.first import find_first
from detloader.audits.headers import not_compared, tell_hidden
from detloader.audits.pairs import NO_COMMON_ROWS
from detloader.audits.rule import rule_names
from detloader.findings import NotChecked, StreamResult, Verdict

if TYPE_CHECKING:
    from detloader.audits.streams import Selection
    from detloader.findings import FirstDifference
    from detloader.manifest.reader import Stream

__all__ = ["WHOLE_AUDIT", "audit_first"]

WHOLE_AUDIT = "an audit without --first"
"""What tells the rest."""


def audit_first(
    path_a: str, stream_a: Stream, path_b: str, stream_b: Stream, selection: Selection
) -> StreamResult:
    """Find the first row that differs between two streams; ask and count nothing else."""
    first, coverage, restart = find_first(path_a, stream_a, path_b, stream_b)
    hidden = tell_hidden(stream_a, stream_b)
    verdict, reason = _judge(first, coverage, hidden)
    return StreamResult(
        name=stream_a.name,
        verdict=verdict,
        coverage=coverage,
        reason=reason or restart,
        first_difference=first,
        not_checked=[
            NotChecked(rule=name, missing=[WHOLE_AUDIT])
            for name in sorted(rule_names())
            if selection.wants(name)
        ],
        not_compared=not_compared(stream_a, stream_b),
    )


def _judge(
    first: FirstDifference | None, coverage: float, hidden: str | None
) -> tuple[Verdict, str | None]:
    if not coverage:
        return Verdict.INCONCLUSIVE, NO_COMMON_ROWS
    if first is not None:
        return Verdict.CHANGED, "only the first difference was looked for, not its kind or cause"
    return (Verdict.CHANGED, hidden) if hidden else (Verdict.IDENTICAL, None)
