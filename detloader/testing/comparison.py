"""Two runs that should be alike, or a failure that says how they are not."""

from __future__ import annotations

from detloader.audits.replay.expectations import Asks, meets
from detloader.findings import Outcome, Result, Verdict
from detloader.testing.context import Context
from detloader.testing.told import Made, comparison_lines

__all__ = ["NotRepeatedError", "difference", "failure", "require_alike"]


class NotRepeatedError(AssertionError):
    """A loader is not the same under the same conditions, so that nothing else can be blamed."""


def require_alike(
    context: Context, a: Made, b: Made, title: str, asks: Asks = Asks.SAME_ROWS
) -> None:
    """Fail where the second run is not what it should be, given the first.

    Args:
        context: of the assertion.
        a: the baseline.
        b: the run that is compared with it.
        title: the first line of the failure.
        asks: what must hold; a project's `equivalence` stands above it.

    Raises:
        AssertionError: it does not hold.
    """
    result = difference(context, a, b, asks)
    if result is not None:
        raise AssertionError(failure(title, result, a, b))


def failure(title: str, result: Result, a: Made, b: Made) -> str:
    """Return what a failure says of two runs."""
    return "\n".join([title, "", *comparison_lines(result, a, b)])


def difference(context: Context, a: Made, b: Made, asks: Asks) -> Result | None:
    """Return the audit of two runs where the second is not what it should be; None where it is."""
    if a.run.fingerprint == b.run.fingerprint:
        return None
    from detloader.audits.engine import audit

    settings = context.settings
    result = audit(
        a.named,
        b.named,
        select=settings.select,
        ignore=settings.ignore,
        equivalence=settings.equivalence,
    )
    if settings.equivalence is not None:
        holds = result.outcome is Outcome.HOLDS
    elif asks is Asks.SAME_ROWS:
        holds = result.verdict is Verdict.IDENTICAL
    else:
        holds = meets(asks, result, a.run, b.run)
    return None if holds else result
