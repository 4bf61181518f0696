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
from detloader.findings import Severity, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from detloader.audits.columns import Integers
    from detloader.audits.compare import Comparison
    from detloader.audits.view import StreamView
    from detloader.findings import Finding

__all__ = ["tell_epoch_lengths", "tell_extent", "tell_shorter_epochs"]


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


def tell_epoch_lengths(comparison: Comparison, findings: Iterable[Finding]) -> str | None:
    """Say how long epochs are that have other lengths; None where a cause is named, or none has."""
    a, b = comparison.a, comparison.b
    if not (a.complete and b.complete) or any(f.severity is not Severity.NOTE for f in findings):
        return None
    epochs = [dict(view.by_epoch()) for view in (a, b)]
    lengths = {
        epoch: (len(rows), len(epochs[1][epoch]))
        for epoch, rows in epochs[0].items()
        if epoch in epochs[1]
    }
    other = sorted(epoch for epoch, (rows_a, rows_b) in lengths.items() if rows_a != rows_b)
    if not other:
        return None
    rows_a, rows_b = lengths[other[0]]
    is_each = len(lengths) > 1 and len(other) == len(lengths) and len({*lengths.values()}) == 1
    which = "each epoch" if is_each else f"epoch {other[0]}"
    told = f"{which} of {b.path} has {rows_b:,} records, of {a.path} {rows_a:,}"
    if len(other) > 1 and not is_each:
        further = len(other) - 1
        told += f", and {further:,} further {'epoch has' if further == 1 else 'epochs have'} "
        told += "another length, too"
    parted = _first_of_another_order(comparison, epochs)
    if parted is not None and parted > other[0]:
        told += (
            f"; the order is the same until epoch {parted}: "
            "one that is left early may have drawn less from a generator that goes on"
        )
    return f"no rule names a cause: {told}"


def _first_of_another_order(
    comparison: Comparison, epochs: list[dict[int, Integers]]
) -> int | None:
    """Give the first epoch in which neither run has the beginning of the other's order."""
    records = comparison.a.record.values, comparison.b.record.values
    for epoch in sorted(epochs[0].keys() & epochs[1].keys()):
        rows = [of_run[epoch] for of_run in epochs]
        end = min(map(len, rows))
        if not np.array_equal(records[0][rows[0][:end]], records[1][rows[1][:end]]):
            return epoch
    return None


def _are(numbers: Integers) -> str:
    return "is" if len(numbers) == 1 else "are"
