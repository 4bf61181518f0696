"""Draws that are the same ones in two runs, on other records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.alignment import match_occurrences
from detloader.audits.measures.conditions import require_equal_seeds
from detloader.audits.measures.shifted_draws import keep_order
from detloader.audits.rule import CannotTell
from detloader.audits.verdict import same_sequence

if TYPE_CHECKING:
    from detloader.audits.compare import Comparison
    from detloader.findings import JsonValue

__all__ = ["find_exchange"]

LEAST_SHARED = 0.5
"""Share of the draws that both runs must have taken, for their exchange to be a race."""

DISTINCT = 0.9
"""Share of distinct draws above which two streams do not share half of them by chance."""

SAMPLE = 65_536
"""Rows that are looked at first, so that runs of other draws are soon let go."""


def find_exchange(comparison: Comparison) -> dict[str, JsonValue] | None:
    """Find draws that are the same ones, on other records, where the order is the same."""
    a, b = comparison.a, comparison.b
    if "draws" not in a.compared or not comparison.redrawn.any() or same_sequence(a, b, ()) is None:
        return None
    draws = a.compared["draws"].values, b.compared["draws"].values
    rows = match_occurrences(draws[0][:SAMPLE], draws[1][:SAMPLE])
    if len(rows[0]) < LEAST_SHARED * min(SAMPLE, a.rows):
        return None
    rows = match_occurrences(*draws)
    if len(rows[0]) < LEAST_SHARED * a.rows:
        return None
    if _stand_alike(comparison) or not _were_exchanged(comparison):
        return None
    certain = len(np.unique(draws[0])) >= DISTINCT * a.rows
    if not certain:
        _require_threads(comparison)
    elif keep_order(comparison):
        return None
    return {
        "what": "draws",
        "trace": "exchanged-draws" if certain else "exclusion",
        "moved": int(comparison.redrawn.sum()),
        "shared_draws": len(rows[0]),
        "largest_displacement": int(np.abs(rows[0] - rows[1]).max()),
    }


def _stand_alike(comparison: Comparison) -> bool:
    """Tell whether each rank took the same draws, one after another."""
    a, b = comparison.a, comparison.b
    draws = [view.compared["draws"].take(view.delivery_order()) for view in (a, b)]
    return bool(draws[0].equals(draws[1]).all())


def _were_exchanged(comparison: Comparison) -> bool:
    """Tell whether the draws that left a record are those that came to others."""
    a, b, alignment = comparison.a, comparison.b, comparison.alignment
    left = a.compared["draws"].values[alignment.rows_a[comparison.redrawn]]
    came = b.compared["draws"].values[alignment.rows_b[comparison.redrawn]]
    return bool(np.isin(came, left).mean() >= LEAST_SHARED)


def _require_threads(comparison: Comparison) -> None:
    """Make sure that readers share a generator, where the draws have too few values to show it."""
    declared = comparison.a.declared
    if (declared("threads") or 0) < 2 and declared("deterministic") is not False:  # noqa: PLR2004
        raise CannotTell("draws that tell records apart, or threads")
    require_equal_seeds(comparison.a.stream, comparison.b.stream, random=True)
