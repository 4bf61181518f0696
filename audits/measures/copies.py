"""Records that come several times an epoch in one run, and once in another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import are_distinct, tally
from detloader.audits.measures.dealing import REPEATS
from detloader.audits.measures.statistics import is_impossible

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.view import StreamView

__all__ = ["copies_unlike"]


def copies_unlike(view: StreamView, other: StreamView) -> int | None:
    """Tell how often each record comes in each epoch of a run, if it does once in the other run.

    Returns:
        None where it comes once, or not each as often, or where it was declared, or may be by
        chance; and where passes follow each other, for these are epochs that nobody counted.
    """
    if _are_declared(view) or view.epochs.keys() != other.epochs.keys():
        return None
    found = {
        _copies(view.record.values[rows], other.record.values[other.epochs[epoch]])
        for epoch, rows in view.epochs.items()
    }
    return found.pop() if len(found) == 1 else None


def _are_declared(view: StreamView) -> bool:
    fields = ("weights", "num_samples", "replacement")
    return any(map(view.declared, fields)) or any(view.config(name) is not None for name in REPEATS)


def _copies(record: Integers, once: Integers) -> int | None:
    records, times = tally(record)
    copies = int(times[0])
    if copies == 1 or (times != copies).any() or not np.array_equal(records, np.sort(once)):
        return None
    if are_distinct(record[: len(records)]):
        return None
    size = len(records)
    drawn = math.lgamma(copies * size + 1) - size * math.lgamma(copies + 1)
    return copies if is_impossible(drawn - copies * size * math.log(size)) else None
