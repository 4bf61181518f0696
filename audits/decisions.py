"""Decisions about results: each comparison has its own, and the top level repeats them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from detloader.findings import Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from detloader.findings import Result

__all__ = ["decide_each", "repeat_on_top"]

_PASSED = frozenset({Outcome.HOLDS, Outcome.ACCEPTED})
_ALIKE = frozenset({Verdict.IDENTICAL, Verdict.EQUIVALENT})


def decide_each(result: Result, decide: Callable[[Result], Result]) -> Result:
    """Decide about a result of two runs, or about each comparison of several."""
    if not result.comparisons:
        return decide(result)
    return repeat_on_top(result, [decide(comparison) for comparison in result.comparisons])


def repeat_on_top(result: Result, comparisons: Sequence[Result]) -> Result:
    """Put these comparisons into a result of several runs, and their decisions on top."""
    decisions = [f"{one.runs[1].path}: {one.decision}" for one in comparisons if one.decision]
    return msgspec.structs.replace(
        result,
        comparisons=[*comparisons],
        decision="; ".join(decisions) or None,
        outcome=max(comparisons, key=_badness).outcome,
    )


def _badness(result: Result) -> int:
    """Order results by what they leave to be done, least first."""
    if result.outcome in _PASSED:
        return 1
    if result.outcome is msgspec.UNSET and result.verdict in _ALIKE:
        return 0
    undecided = result.outcome is Outcome.UNKNOWN or result.verdict is Verdict.INCONCLUSIVE
    return 2 if undecided else 3
