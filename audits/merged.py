"""Orders that a race may have left, or a program that merges its sources otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detloader.audits.measures.delivery import displacements, find_delivery, tell_trace

if TYPE_CHECKING:
    from detloader.audits.compare import Comparison
    from detloader.findings import Finding

__all__ = ["tell_merge"]


def tell_merge(comparison: Comparison, findings: list[Finding]) -> str | None:
    """Say what two orders have in common of which no rule knows more; None where that is nothing.

    Whoever takes from several sources by turns leaves the same traces as readers that race.
    """
    found = None if findings else find_delivery(comparison)
    if found is None:
        return None
    farthest = int(displacements(comparison).max())
    return (
        "no rule names a cause: records come at most "
        f"{farthest} places away, and {tell_trace(found.trace, found.groups)}; "
        "whether readers raced, or something chose otherwise, nothing tells"
    )
