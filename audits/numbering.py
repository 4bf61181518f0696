"""Epochs that two runs number otherwise: from 0 the one, and from 1 the other.

The number is what a loader calls an epoch, and is compared. But rows that are the same
records in the same order, epoch by epoch, are no other rows for that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import distinct

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.view import StreamView

__all__ = ["number_alike", "tell_numbering"]


def number_alike(a: StreamView, b: StreamView) -> StreamView:
    """Give b with the numbers of a's epochs, where nothing but the numbers tells them apart.

    Args:
        a: the baseline.
        b: the other run; it is given back as it is where records, or where epochs end, differ.
    """
    if _ends(a) == _ends(b):
        return b
    numbers_a, numbers_b = distinct(a.epoch), distinct(b.epoch)
    if len(numbers_a) != len(numbers_b):
        return b
    if not np.array_equal(a.record.values, b.record.values):
        return b
    epoch = numbers_a[np.searchsorted(numbers_b, b.epoch)]
    return replace(b, epoch=epoch) if np.array_equal(a.epoch, epoch) else b


def _ends(view: StreamView) -> tuple[list[int], list[int]]:
    """Give the numbers of the first and of the last epoch; nothing is read for it."""
    return view.epoch[:1].tolist(), view.epoch[-1:].tolist()


def tell_numbering(a: StreamView, b: StreamView) -> str:
    """Say how two runs number their epochs, which differ in that."""
    spans = [f"{_span(distinct(view.epoch))} in {view.path}" for view in (a, b)]
    return f"epochs are numbered {' and '.join(spans)}"


def _span(numbers: Integers) -> str:
    first, last = int(numbers[0]), int(numbers[-1])
    return str(first) if first == last else f"{first} to {last}"
