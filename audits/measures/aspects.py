"""What two runs have in common, aspect by aspect, for a person to judge what a difference costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.batches import global_batches
from detloader.audits.verdict import same_sequence

if TYPE_CHECKING:
    import numpy.typing as npt

    from detloader.audits.compare import Comparison
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue

__all__ = ["LOST_TAIL", "Aspects", "aspects_of", "is_beginning", "is_cut_short"]

LOST_TAIL = 0.25
"""Share of an epoch that can be a lost remainder; where more is missing, the run was stopped."""

MIXER = np.uint64(0x9E3779B97F4A7C15)
"""Odd, with well-spread bits, so that sums of mixed records tell sets apart."""


@dataclass(frozen=True, slots=True)
class Aspects:
    """Aspects of two runs; those that were not recorded are in neither list.

    Attributes:
        same: of "records" (which, in each epoch), "order", "batches", "draws", "content".
        other: those that differ; batches are compared as sets where the order differs.
    """

    same: tuple[str, ...]
    other: tuple[str, ...]

    def evidence(self) -> dict[str, JsonValue]:
        """Give both lists under the names that rules document."""
        return {"same": [*self.same], "other": [*self.other]}

    def sentence(self) -> str:
        """Say it in a sentence."""
        changed = f"{_list(self.other)} {'differ' if _are_many(self.other) else 'differs'}"
        if not self.same:
            return changed
        return (
            f"{changed}; {_list(self.same)} {'stay' if _are_many(self.same) else 'stays'} the same"
        )


def is_cut_short(comparison: Comparison) -> bool:
    """Tell whether one run is the beginning of the other, and lacks more than a remainder."""
    a, b = comparison.a, comparison.b
    shorter, longer = (a, b) if a.rows < b.rows else (b, a)
    rows = shorter.rows
    if rows == longer.rows or comparison.redrawn.any() or comparison.drifted.any():
        return False
    if not np.array_equal(a.record.values[:rows], b.record.values[:rows]):
        return False
    last = longer.epoch[-1]
    whole = int((longer.epoch == last).sum())
    return not rows or shorter.epoch[-1] != last or longer.rows - rows > LOST_TAIL * whole


def is_beginning(comparison: Comparison) -> bool:
    """Tell whether each epoch of one run is the beginning of the other's, row by row."""
    a, b = comparison.a, comparison.b
    shorter, longer = (a, b) if a.rows < b.rows else (b, a)
    other = comparison.redrawn.any() or comparison.drifted.any() or comparison.counts.batches
    if shorter.rows == longer.rows or other:
        return False
    theirs, nothing = dict(longer.by_epoch()), np.zeros(0, np.int64)
    return all(
        np.array_equal(
            shorter.record.values[rows],
            longer.record.values[theirs.get(epoch, nothing)[: len(rows)]],
        )
        for epoch, rows in shorter.by_epoch()
    )


def aspects_of(comparison: Comparison) -> Aspects:
    """Tell which aspects of two runs agree. Draws and content are compared record by record."""
    a, b, counts = comparison.a, comparison.b, comparison.counts
    lost_or_found = counts.other_records
    order = not counts.moved if lost_or_found else same_sequence(a, b, ("record",)) is not None
    found = {"records": not lost_or_found, "order": order}
    if "batch" in a.compared:
        found["batches"] = not lost_or_found and _same_batches(comparison, order=order)
    if any(name.startswith("draws") for name in a.compared):
        found["draws"] = not comparison.redrawn.any()
    drifted = bool(comparison.drifted.any())
    # Where draws differ, so may content, which is compared where they agree.
    if {"content", "raw"} & {*a.compared} and (drifted or not comparison.redrawn.any()):
        found["content"] = not drifted
    return Aspects(
        tuple(name for name, same in found.items() if same),
        tuple(name for name, same in found.items() if not same),
    )


def _same_batches(comparison: Comparison, *, order: bool) -> bool:
    a, b = comparison.a, comparison.b
    if order and comparison.counts.batches:
        return False
    return np.array_equal(_batch_sums(a), _batch_sums(b))


def _batch_sums(view: StreamView) -> npt.NDArray[np.uint64]:
    """Give a number for the set of records of each global batch, in ascending order."""
    batch = global_batches(view)
    order = np.argsort(batch, kind="stable")
    starts = np.flatnonzero(np.diff(batch[order], prepend=-1))
    mixed = view.record.values[order].astype(np.uint64) * MIXER
    mixed ^= mixed >> np.uint64(32)
    return np.sort(np.add.reduceat(mixed * MIXER, starts))


def _are_many(names: tuple[str, ...]) -> bool:
    return len(names) > 1 or names[0].endswith("s")


def _list(names: tuple[str, ...]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
