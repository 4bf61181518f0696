"""What was counted between two runs, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detloader.reports.plain import plural

if TYPE_CHECKING:
    from detloader.findings import Counts, RunSummary

__all__ = ["changes", "has_records"]


def has_records(counts: Counts, a: RunSummary) -> str:
    """Say which records of the baseline the other run has, where all rows were compared."""
    absent = counts.missing + counts.substituted
    kept = max(a.rows - absent, 0)
    if absent:
        what = f"has {f'{kept:,}' if kept else 'none'} of the {a.rows:,} records of {a.path}"
    elif counts.extra or counts.duplicated:
        what = f"has all {a.rows:,} records of {a.path}"
    else:
        what = f"has the records of {a.path}"
    others = "more" if not absent else "other" if counts.extra == 1 else "others"
    added = [f"{counts.extra:,} {others}"] if counts.extra else []
    if counts.duplicated:
        added.append(plural(counts.duplicated, "repeat"))
    return ", ".join([f"{what} and {' and '.join(added)}" if added else what, *_ways(counts)])


def changes(counts: Counts, a: RunSummary) -> str:
    """Say what is different in the rows that were compared, and nothing of how many those are."""
    said = []
    if counts.missing:
        said.append(f"lacks {plural(counts.missing, 'record')}")
    if counts.extra:
        said.append(f"has {plural(counts.extra, 'other')}")
    if counts.duplicated:
        said.append(f"has {plural(counts.duplicated, 'repeat')}")
    return f"differs from {a.path}: {', '.join([*said, *_ways(counts)])}"


def _ways(counts: Counts) -> list[str]:
    ways = []
    if counts.substituted:
        records = "another record" if counts.substituted == 1 else "other records"
        ways.append(f"with {records} in {plural(counts.substituted, 'place')}")
    if counts.moved:
        ways.append("in another order")
    if counts.content:
        ways.append(f"with other content in {plural(counts.content, 'row')}")
    if counts.draws:
        ways.append(f"with other draws in {plural(counts.draws, 'row')}")
    if counts.batches:
        ways.append(f"with {plural(counts.batches, 'row')} in other batches")
    return ways
