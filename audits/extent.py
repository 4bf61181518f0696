"""What only one of two runs has, in a sentence: ranks, epochs, or its end.

No loader need have done wrong where runs were recorded for another number of epochs,
where a rank's rows were never collected, or where records have other names: no rule
names these, and a person must not be left to find them out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.first import first_difference
from detloader.audits.headers import absent_ranks, several
from detloader.audits.integers import distinct, overlap
from detloader.audits.measures.added import without_marked_rows
from detloader.audits.measures.aspects import is_beginning
from detloader.audits.numbering import tell_numbering
from detloader.findings import Verdict

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.compare import Comparison
    from detloader.audits.view import StreamView

__all__ = ["tell_extent", "tell_shorter_epochs"]


def tell_extent(comparison: Comparison) -> str | None:
    """Say which part only one of two streams has; None where they have the same parts."""
    a, b = comparison.a, comparison.b
    lacking = [absent_ranks(view.path, view.stream) for view in (a, b)]
    if told := [sentence for sentence in lacking if sentence]:
        return "; ".join(told)
    if not (a.rows and b.rows):
        return f"{(b if a.rows else a).path} has no row"
    if not len(comparison.alignment.rows_a):
        return _no_record(a, b) or _epochs(a, b)
    return _ranks(a, b) or _epochs(a, b) or _end(a, b) or _padding(comparison)


def _no_record(a: StreamView, b: StreamView) -> str | None:
    if overlap(a.record.values, b.record.values):
        return None
    return (
        f"no record ID of {a.path} (such as {a.record.show(0)}) is in {b.path} "
        f"(such as {b.record.show(0)}): give the same records the same IDs"
    )


def _ranks(a: StreamView, b: StreamView) -> str | None:
    """Say which ranks one run lacks, where all that the others delivered is the same."""
    ranks = distinct(a.rank), distinct(b.rank)
    owner, other, only = _surplus(a, b, *ranks)
    shared = np.intersect1d(*ranks)
    if owner is None or not len(shared) or not _same_rows(a, b, "rank", shared):
        return None
    return (
        f"{several('rank', only.tolist(), len(only))} of {owner.path} "
        f"{_are(only)} not in {other.path}; the rows of the other ranks are the same"
    )


def _epochs(a: StreamView, b: StreamView) -> str | None:
    """Say which epochs one run lacks, and whether the others are the same."""
    epochs = distinct(a.epoch), distinct(b.epoch)
    shared = np.intersect1d(*epochs)
    if not len(shared):
        return f"{tell_numbering(a, b)}, and rows of other epochs are other rows: number them alike"
    owner, _, only = _surplus(a, b, *epochs)
    if owner is None:
        return None
    told = f"{several('epoch', only.tolist(), len(only))} {_are(only)} in {owner.path} alone"
    same = _same_rows(a, b, "epoch", shared)
    return f"{told}; the rows of the other epochs are the same" if same else told


def _surplus(
    a: StreamView, b: StreamView, of_a: Integers, of_b: Integers
) -> tuple[StreamView | None, StreamView, Integers]:
    """Give the run that has more labels, the other one, and the labels that it has alone."""
    only_a, only_b = np.setdiff1d(of_a, of_b), np.setdiff1d(of_b, of_a)
    if len(only_a) and not len(only_b):
        return a, b, only_a
    return (b if len(only_b) and not len(only_a) else None), a, only_b


def _same_rows(a: StreamView, b: StreamView, label: str, values: Integers) -> bool:
    kept = [view.take(np.isin(getattr(view, label), values)) for view in (a, b)]
    return first_difference(*kept) is None


def _end(a: StreamView, b: StreamView) -> str | None:
    """Say that one run is the beginning of the other."""
    shorter, longer = (a, b) if a.rows < b.rows else (b, a)
    rows = shorter.rows
    if rows == longer.rows or first_difference(shorter, longer.take(slice(rows))) is not None:
        return None
    return (
        f"{shorter.path} ends after the first {rows:,} of the {longer.rows:,} rows of "
        f"{longer.path}, and these are the same: declare it as not complete if it was interrupted"
    )


def _padding(comparison: Comparison) -> str | None:
    """Say that all that differs are rows that were added to even out ranks, and are marked."""
    if comparison.verdict is not Verdict.CHANGED:
        return None
    bare = without_marked_rows(comparison)
    if bare.verdict not in {Verdict.IDENTICAL, Verdict.EQUIVALENT}:
        return None
    pairs = (comparison.a, bare.a), (comparison.b, bare.b)
    padded = [
        f"{view.rows - others.rows:,} of {view.rows:,} rows of {view.path}"
        for view, others in pairs
        if view.rows > others.rows
    ]
    return f"{' and '.join(padded)} are marked as padding; the others are the same in each batch"


def tell_shorter_epochs(comparison: Comparison) -> str | None:
    """Say that each epoch of one run is the beginning of the other's."""
    if not is_beginning(comparison):
        return None
    a, b = comparison.a, comparison.b
    shorter, longer = (a, b) if a.rows < b.rows else (b, a)
    return (
        f"{shorter.path} ends epochs earlier than {longer.path}; "
        "the rows that both have are the same"
    )


def _are(numbers: Integers) -> str:
    return "is" if len(numbers) == 1 else "are"
