"""Sources that are declared to have fewer records than the baseline's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detloader.audits.integers import distinct, lacking
from detloader.audits.measures.shown import SHOWN, listed, show_records
from detloader.audits.rule import Fault
from detloader.findings import Severity

if TYPE_CHECKING:
    from detloader.audits.view import StreamView

__all__ = ["has_smaller_source", "note_smaller_source"]


def has_smaller_source(view: StreamView) -> bool:
    """Tell whether the baseline has more records than the run declares of its own source."""
    size, baseline = view.declared("source_size"), view.baseline
    if size is None or baseline is None:
        return False
    return bool(size < _baseline_size(baseline))


def _baseline_size(baseline: StreamView) -> int:
    return int(baseline.declared("source_size") or len(distinct(baseline.record.values)))


def note_smaller_source(view: StreamView) -> list[Fault]:
    """Note that a smaller source was declared, which is why records of the baseline stay away."""
    if view.baseline is None or not has_smaller_source(view):
        return []
    size, theirs = int(view.declared("source_size")), view.baseline.record.values
    gone = lacking(theirs, view.record.values)
    if not len(gone):
        return []
    names = listed(view.identify(gone[:SHOWN]), len(gone))
    return [
        Fault(
            severity=Severity.NOTE,
            message=f"The source differs: `source_size` is {size} instead of "
            f"{_baseline_size(view.baseline)}, and {len(gone)} records of the baseline ({names}) "
            "do not come.",
            cause="The source has fewer records than the baseline's.",
            evidence=show_records("dropped", view, gone) | {"rows": view.rows},
        )
    ]
