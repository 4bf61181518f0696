"""Who delivered a row: the worker of a rank, or the rank where workers are unknown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from detloader.audits.integers import distinct

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from detloader.audits.columns import Integers
    from detloader.audits.view import StreamView
    from detloader.findings import JsonValue

__all__ = ["Deliverers", "deliverers_of", "place_among", "ranks_as_deliverers"]

SMALL = 2**15
"""Numbers below this are sorted in linear time."""


@dataclass(frozen=True, eq=False, slots=True)
class Deliverers:
    """Who delivered each row.

    Attributes:
        of_row: shape (rows,), int64; number of the deliverer.
        ranks: rank of each deliverer.
        workers: worker of each deliverer, as recorded; None where workers are unknown.
    """

    of_row: Integers
    ranks: list[int]
    workers: list[JsonValue] | None

    def __len__(self) -> int:
        """Count the deliverers."""
        return len(self.ranks)

    def show(self, number: int) -> dict[str, JsonValue]:
        """Name a deliverer, as evidence does."""
        if self.workers is None:
            return {"rank": self.ranks[number]}
        return {"rank": self.ranks[number], "worker": self.workers[number]}

    def split(self, view: StreamView, rows: Integers) -> Iterator[tuple[int, Integers]]:
        """Give those of the rows that each deliverer delivered, in delivery order.

        Args:
            view: the view that `of_row` is of.
            rows: rows of one epoch, or of all.
        """
        labels = self.of_row[rows]
        order = np.argsort(labels.astype(np.int16) if len(self) < SMALL else labels, kind="stable")
        starts = np.flatnonzero(np.diff(labels[order])) + 1
        for mine in np.split(rows[order], starts) if len(rows) else ():
            position = view.position[mine]
            sorted_already = bool((position[1:] > position[:-1]).all())
            delivered = mine if sorted_already else mine[np.argsort(position, kind="stable")]
            yield int(self.of_row[mine[0]]), delivered


def deliverers_of(view: StreamView) -> Deliverers:
    """Tell the workers of each rank apart, where workers were recorded; else the ranks."""
    if not view.has("worker"):
        return ranks_as_deliverers(view)
    column = view.column("worker")
    worker_values, worker = _number(column.values)
    rank_values, rank = _number(view.rank)
    found, of_row = _number(rank * len(worker_values) + worker)
    return Deliverers(
        of_row=of_row,
        ranks=[int(rank_values[number // len(worker_values)]) for number in found],
        workers=[column.show_value(worker_values[number % len(worker_values)]) for number in found],
    )


def ranks_as_deliverers(view: StreamView) -> Deliverers:
    """Tell ranks apart, whatever their workers."""
    ranks, of_row = _number(view.rank)
    return Deliverers(of_row=of_row, ranks=ranks.tolist(), workers=None)


def _number(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Integers]:
    """Give the distinct values, ascending, and the number of each row's."""
    if not np.issubdtype(values.dtype, np.integer):
        return np.unique(values, return_inverse=True)
    if not any(values.strides):
        return values[:1], np.broadcast_to(np.int64(0), len(values))
    found = distinct(values)
    return found, np.searchsorted(found, values)


def place_among(view: StreamView, deliverers: Deliverers) -> Integers:
    """Count the rows of each (epoch, deliverer) from 0, in delivery order; shape (rows,)."""
    place = np.empty(view.rows, np.int64)
    for _, of_epoch in view.by_epoch():
        for _, mine in deliverers.split(view, of_epoch):
            place[mine] = np.arange(len(mine))
    return place
