"""What was ruled out where draws differ and no rule names a cause: they may be seeded by nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detloader.audits.measures.conditions import (
    equal_conditions,
    require_equal_seeds,
    require_no_other,
    topology_differences,
    version_differences,
)
from detloader.audits.measures.seeds import first_made_otherwise, have_other_seeds
from detloader.audits.rule import CannotTell
from detloader.findings import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from detloader.audits.compare import Comparison
    from detloader.findings import Finding

__all__ = ["tell_ruled_out"]

SEEDED_BY = ("seed", "workers", "threads", "world_size", "start_method", "versions")
"""What draws may follow, of what runs declare."""


def tell_ruled_out(comparison: Comparison, findings: Iterable[Finding]) -> str | None:
    """Say what the draws of two runs do not follow; None where a cause is named, or likely."""
    redrawn = int(comparison.redrawn.sum())
    if not redrawn or any(finding.severity is not Severity.NOTE for finding in findings):
        return None
    a, b = comparison.a.stream, comparison.b.stream
    others = [*topology_differences(a, b), *version_differences(a, b)]
    try:
        require_equal_seeds(a, b, random=True)
        require_no_other(a, b, "draws", others)
    except CannotTell:
        return None
    if have_other_seeds(a, b) or first_made_otherwise(a, b):
        return None
    alike = [str(name) for name in equal_conditions(a, b) if name in SEEDED_BY]
    if not comparison.counts.moved:
        alike.append("order")
    rows = "1 row has" if redrawn == 1 else f"{redrawn:,} rows have"
    return (
        f"no rule names a cause: {rows} other draws, though {', '.join(alike)} are the same; "
        "a generator that nobody seeded is left"
    )
