"""Content that changed: what draws that nobody saw may have made, and what they cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import (
    are_distinct,
    contains,
    distinct,
    first_rows,
    repeated,
    slices,
    tally,
)
from detloader.audits.measures.conditions import are_drawn_together

if TYPE_CHECKING:
    from detloader.audits.columns import Flags, Integers
    from detloader.audits.compare import Comparison
    from detloader.audits.view import StreamView

__all__ = [
    "changes_unseen",
    "is_fixed",
    "may_be_drawn",
    "may_follow_seeds",
    "unlike_first",
    "without_unseen_draws",
]

FEW = 0.05
"""Share of records up to which changes in a run are faults although draws are unknown."""

FEW_BETWEEN_RUNS = 0.25
"""Share of rows up to which changes between runs are, for a seeded augmentation is in all rows."""

CHANCE = 1e-6
"""Chance below which no augmentation kept all content before and after one point of a run."""


def unlike_first(view: StreamView, name: str) -> Flags:
    """Tell which rows hold other bytes than the first row of the same record and draws."""
    other = np.zeros(view.rows, dtype=np.bool_)
    if name == "content" and view.has("draws"):
        if view.column("draws").is_distinct:
            return other
        again, first = _first_of_same_draws(view)
        column = view.column(name)
        other[again] = ~column.take(again).equals(column.take(first))
    else:
        column, first_of = view.column(name), first_rows(view.record.values)
        for rows in slices(view.rows):
            other[rows] = ~column.take(rows).equals(column.take(first_of(rows)))
    return other & ~column.missing()


def without_unseen_draws(view: StreamView, other: Flags) -> Flags:
    """Leave out the rows that an augmentation whose draws nobody saw may have changed."""
    if view.declared("purpose") == "eval":
        return other
    # A generator that a transform makes for each sample is seen by nobody: no draws, new content.
    seen = ~view.column("draws").missing() if view.has("draws") else np.zeros_like(other)
    changed = other & ~seen
    if _are_few(view, changed, ~seen) or (seen.any() and _changed_at_once(view, ~seen)):
        return other
    return other & seen


def changes_unseen(view: StreamView) -> bool:
    """Tell whether records without draws change within a run, as by an augmentation."""
    if not view.has("draws"):
        return False
    hidden = view.column("draws").missing()
    if not hidden.any():  # sorting long runs takes seconds
        return False
    changed = unlike_first(view, "content") & hidden
    return bool(changed.any()) and not _are_few(view, changed, hidden)


def is_fixed(comparison: Comparison) -> bool:
    """Tell whether content does not depend on draws, or draws must be the same."""
    a, b = comparison.a, comparison.b
    if a.declared("purpose") == b.declared("purpose") == "eval":
        return True
    if _comes_again(a) and not any(unlike_first(view, "content").any() for view in (a, b)):
        return True
    if "raw" in a.compared or _is_bound_to_epochs(comparison):
        return False  # the bytes are the same, or draws are likelier to change with the epoch
    if are_drawn_together(a.stream) or are_drawn_together(b.stream):
        return False
    seeded_alike = a.declared("seed") is not None and a.declared("seed") == b.declared("seed")
    if seeded_alike and not comparison.counts.moved:  # draws may follow the place
        return True
    return float(comparison.drifted.mean()) <= FEW_BETWEEN_RUNS


def may_be_drawn(a: StreamView, b: StreamView, rows: Integers) -> bool:
    """Tell whether draws that nobody saw may have made the content of these rows of a."""
    if "draws" in a.compared and not a.compared["draws"].missing()[rows].all():
        return False
    if a.declared("purpose") == b.declared("purpose") == "eval":
        return False
    records = distinct(a.record.values[rows])
    if len(records) > FEW_BETWEEN_RUNS * len(distinct(a.record.values)):
        return True  # one that is seeded for each record gives it the same content each time
    undrawn = [_without_draws(view, records) for view in (a, b)]
    return not all(
        _comes_again(view) and not unlike_first(view, "content").any() for view in undrawn
    )


def may_follow_seeds(comparison: Comparison) -> bool:
    """Tell whether draws that nobody saw, of other seeds, may have made the content that differs.

    An augmentation changes more than few rows, and no raw bytes.
    """
    a, b = comparison.a, comparison.b
    if a.declared("purpose") == b.declared("purpose") == "eval":
        return False
    rows_a = comparison.alignment.rows_a[comparison.drifted]
    rows_b = comparison.alignment.rows_b[comparison.drifted]
    if len(rows_a) <= FEW_BETWEEN_RUNS * len(comparison.drifted):
        return False
    if "raw" in a.compared and not _are_alike(a, b, "raw", rows_a, rows_b):
        return False
    return "draws" not in a.compared or bool(a.compared["draws"].missing()[rows_a].all())


def _are_alike(a: StreamView, b: StreamView, name: str, rows_a: Integers, rows_b: Integers) -> bool:
    return bool(a.compared[name].take(rows_a).equals(b.compared[name].take(rows_b)).all())


def _without_draws(view: StreamView, records: Integers) -> StreamView:
    rows = contains(records, view.record.values)
    return view.take(rows & view.column("draws").missing() if view.has("draws") else rows)


def _first_of_same_draws(view: StreamView) -> tuple[Integers, Integers]:
    """Give the rows whose draws come again, and for each the first of its record and draws."""
    draws = view.column("draws")
    rows = np.flatnonzero(repeated(draws.values))
    keys = [key[rows] for key in (draws.values, draws.missing(), view.record.values)]
    order = np.lexsort(keys)
    fresh = np.ones(len(rows), dtype=np.bool_)
    fresh[1:] = np.logical_or.reduce([key[order][1:] != key[order][:-1] for key in keys])
    first = np.maximum.accumulate(np.where(fresh, np.arange(len(rows)), 0))
    return rows[order], rows[order[first]]


def _are_few(view: StreamView, changed: Flags, unseen: Flags) -> bool:
    counts = tally(view.record.values[unseen])[1]
    return len(distinct(view.record.values[changed])) <= FEW * int((counts > 1).sum())


def _changed_at_once(view: StreamView, unseen: Flags) -> bool:
    """Tell whether content changed at one point of the run, and was kept before and after it.

    An augmentation that changed as many records there would have changed some elsewhere.
    """
    content, records = view.column("content"), view.record.values
    rows = np.flatnonzero(unseen & ~content.missing())
    rows = rows[np.argsort(records[rows], kind="stable")]
    again = records[rows[1:]] == records[rows[:-1]]
    before, after = rows[:-1][again], rows[1:][again]
    changed = ~content.take(before).equals(content.take(after))
    point = int(after[changed].min())
    across = (before < point) & (point <= after)
    if (changed & ~across).any():
        return False
    kept = 1 - changed.sum() / across.sum()
    return bool(kept ** int((~across).sum()) < CHANCE)


def _is_bound_to_epochs(comparison: Comparison) -> bool:
    """Tell whether all content of some epochs differs, and none of others."""
    epoch = comparison.a.epoch[comparison.alignment.rows_a]
    numbers = np.unique(epoch, return_inverse=True)[1]
    share = np.bincount(numbers, comparison.drifted) / np.bincount(numbers)
    return bool(share.max() > 1 - FEW and share.min() < FEW)


def _comes_again(view: StreamView) -> bool:
    """Tell whether records come in several epochs, each of which could draw anew."""
    if not view.has("epoch"):
        return view.declared("replacement") is not True and not view.record.is_distinct
    epochs = [distinct(view.record.values[rows]) for rows in view.epochs.values()]
    return not are_distinct(np.concatenate(epochs))
