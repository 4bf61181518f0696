"""The first verdict that fits two streams, from the most alike to the least."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from detloader.audits.batches import batch_starts, global_batches
from detloader.audits.columns import are_equal
from detloader.findings import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from detloader.audits.columns import Integers
    from detloader.audits.view import StreamView

__all__ = ["choose_verdict", "same_sequence"]

FIRST_ROWS = 65_536
"""Rows that are looked at before whole runs are sorted to compare their batches."""


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
    if a.is_delivery_order and b.is_delivery_order:
        return None
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
        elif not are_equal(a.compared[name], b.compared[name], a.rows):
            return False
    return True


def _same_global_batches(a: StreamView, b: StreamView) -> bool:
    if "batch" not in a.compared and a.ranks == b.ranks == 1:
        return False  # each row is a batch of its own, and some row differs
    return _agree_at_first(a, b) and _same_rows_in_batches(a, b, [*a.compared])


def _agree_at_first(a: StreamView, b: StreamView) -> bool:
    """Tell whether the first batches agree, where that is quickly told; else say yes."""
    if not (_ascends(a) and _ascends(b)) or min(a.rows, b.rows) <= FIRST_ROWS:
        return True
    first_a, first_b = a.take(slice(FIRST_ROWS)), b.take(slice(FIRST_ROWS))
    # The last batch of such a beginning may be cut.
    whole = min(int(global_batches(first_a).max()), int(global_batches(first_b).max()))
    return _same_rows_in_batches(first_a, first_b, [], whole)


def _ascends(view: StreamView) -> bool:
    """Tell whether global batches come one after the other in canonical order."""
    return bool((view.epoch[1:] >= view.epoch[:-1]).all()) and (
        view.ranks > 1 or view.is_delivery_order
    )


def _same_rows_in_batches(
    a: StreamView, b: StreamView, names: list[str], end: int | None = None
) -> bool:
    """Compare global batches as sets of rows of these columns, all batches or those before one."""
    rows_a, rows_b = _sortable(a, names, end), _sortable(b, names, end)
    if len(rows_a[0]) != len(rows_b[0]) or _mixed_sum(rows_a) != _mixed_sum(rows_b):
        return False
    order_a, order_b = np.lexsort(rows_a), np.lexsort(rows_b)
    return all(
        np.array_equal(key_a[order_a], key_b[order_b])
        for key_a, key_b in zip(rows_a, rows_b, strict=True)
    )


def _sortable(view: StreamView, names: list[str], end: int | None) -> list[npt.NDArray[Any]]:
    keys = []
    for name in names:
        if name != "batch":
            column = view.compared[name]
            keys += [column.missing(), column.values]
    keys += [view.epoch, view.record.values, global_batches(view)]
    return keys if end is None else [key[keys[-1] < end] for key in keys]


def _mixed_sum(keys: list[npt.NDArray[Any]]) -> int:
    """Give a number that is the same for the same rows in any order, and hardly for others."""
    mixed = np.zeros(len(keys[0]), np.uint64)
    for key in keys:
        mixed = (mixed ^ key.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    return int(mixed.sum())
