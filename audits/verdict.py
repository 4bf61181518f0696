"""The first verdict that fits two streams, from the most alike to the least."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from detloader.audits.batches import batch_starts, global_batches
from detloader.findings import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from detloader.audits.columns import Integers
    from detloader.audits.view import StreamView

__all__ = ["choose_verdict", "same_sequence"]


def choose_verdict(
    a: StreamView, b: StreamView, *, same_records: bool, same_draws: bool, same_content: bool
) -> Verdict:
    """Say how much two streams differ.

    Args:
        a: the baseline.
        b: the other run, with the same compared columns.
        same_records: whether each epoch has the same records, as often.
        same_draws: whether matched rows have the same draws, or draws that follow the position.
        same_content: whether matched rows of the same draws agree in everything else.
    """
    if not same_records:
        return Verdict.CHANGED
    if np.array_equal(a.rank, b.rank) and _equal(a, b, a.compared):
        return Verdict.IDENTICAL
    if _same_global_batches(a, b):
        return Verdict.EQUIVALENT
    if same_sequence(a, b, a.compared) is not None:
        return Verdict.REGROUPED
    if same_draws and same_content:
        return Verdict.REORDERED
    return Verdict.CHANGED


def same_sequence(
    a: StreamView, b: StreamView, names: Iterable[str]
) -> tuple[Integers, Integers] | None:
    """Give the orders in which two streams have the same rows, batches aside; None if in none.

    They may be the same in canonical order, or rank by rank.

    Args:
        a: the baseline.
        b: the other run, with the same compared columns.
        names: the columns that must agree, besides record and epoch.
    """
    names = [name for name in names if name not in {"batch", "record"}]
    if _equal(a, b, names):
        return np.arange(a.rows), np.arange(b.rows)
    order_a, order_b = a.delivery_order(), b.delivery_order()
    if not np.array_equal(a.rank[order_a], b.rank[order_b]):
        return None
    return (order_a, order_b) if _equal(a.take(order_a), b.take(order_b), names) else None


def _equal(a: StreamView, b: StreamView, names: Iterable[str]) -> bool:
    if not (np.array_equal(a.record.values, b.record.values) and np.array_equal(a.epoch, b.epoch)):
        return False
    for name in names:
        if name == "batch":
            if not np.array_equal(batch_starts(a), batch_starts(b)):
                return False
        elif not a.compared[name].equals(b.compared[name]).all():
            return False
    return True


def _same_global_batches(a: StreamView, b: StreamView) -> bool:
    if "batch" not in a.compared and a.ranks == b.ranks == 1:
        return False  # each row is a batch of its own, and some row differs
    rows_a, rows_b = _sortable(a), _sortable(b)
    if _mixed_sum(rows_a) != _mixed_sum(rows_b):
        return False
    order_a, order_b = np.lexsort(rows_a), np.lexsort(rows_b)
    return all(
        np.array_equal(key_a[order_a], key_b[order_b])
        for key_a, key_b in zip(rows_a, rows_b, strict=True)
    )


def _sortable(view: StreamView) -> list[npt.NDArray[Any]]:
    keys = []
    for name, column in view.compared.items():
        if name != "batch":
            keys += [column.missing(), column.values]
    return [*keys, view.epoch, view.record.values, global_batches(view)]


def _mixed_sum(keys: list[npt.NDArray[Any]]) -> int:
    """Give a number that is the same for the same rows in any order, and hardly for others."""
    mixed = np.zeros(len(keys[0]), np.uint64)
    for key in keys:
        mixed = (mixed ^ key.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    return int(mixed.sum())
