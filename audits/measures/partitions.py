"""Whether passes over a source look like contiguous parts of it, merged, with the tail dropped."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import are_distinct, ascends, distinct, span
from detloader.audits.measures.statistics import log_choose
from detloader.order.interleave import fitting_partition_counts, fitting_remainders

if TYPE_CHECKING:
    from collections.abc import Iterable

    from detloader.audits.columns import Integers
    from detloader.audits.measures.source import Source
    from detloader.audits.view import StreamView

__all__ = ["Passes", "collect_passes"]


@dataclass(frozen=True, eq=False, slots=True)
class Passes:
    """Source positions as they were delivered, pass by pass.

    Attributes:
        size: records in the source.
        kept: how many of the first positions were delivered; the rest never was.
        orders: the positions of each pass, of each rank that reads the whole source.
        finite: whether each pass delivers each of its records once.
    """

    size: int
    kept: int
    orders: list[Integers]
    finite: bool

    @property
    def tail(self) -> int:
        """Count the last positions, which never come."""
        return self.size - self.kept

    @property
    def rows(self) -> int:
        """Count the rows."""
        return sum(map(len, self.orders))

    @property
    def in_source_order(self) -> bool:
        """Tell whether each pass is the source's own order."""
        return all(map(ascends, self.orders))

    def merge_counts(self) -> list[int]:
        """Give the part counts for which all passes are merges of parts in order."""
        first, *others = [set(fitting_partition_counts(order, self.size)) for order in self.orders]
        return sorted(first.intersection(*others))

    def tail_counts(self) -> list[int]:
        """Give the part counts that would drop such a tail."""
        return fitting_remainders(self.tail, self.size) if self.tail else []

    def log_chance_of_tail(self) -> float:
        """Give the logarithm of the chance that each pass drops the tail among all records."""
        return -len(self.orders) * log_choose(self.size, self.tail)

    def log_chance_of_merge(self, parts: int) -> float:
        """Give the logarithm of the chance that random passes keep the order of each part."""
        return -len(self.orders) * parts * math.lgamma(self.kept // parts + 1)

    def log_chance_of_places(self, parts: int) -> float:
        """Give the logarithm of the chance that steps back fall between parts alone.

        Where records come a little out of order for another reason, the source positions
        that come before their predecessors are not the first ones of parts.
        """
        place = np.empty(self.kept, np.int64)
        place[self.orders[0]] = np.arange(self.kept)
        back = int((np.diff(place) < 0).sum())
        return log_choose(parts - 1, back) - log_choose(self.kept - 1, back)

    def interleave(self, parts: int) -> bool:
        """Tell whether each part begins long before its predecessor ends, and they alternate."""
        length = self.kept // parts
        for order in self.orders:
            place = np.empty(self.kept, np.int64)
            place[order] = np.arange(self.kept)
            by_part = place.reshape(parts, length)
            if not (by_part[1:, 0] < by_part[:-1, length // 2]).all():
                return False
            if (np.diff(order // length) != 0).sum() < 2 * parts:
                return False
        return True


def collect_passes(view: StreamView, source: Source) -> Passes | None:
    """Give the passes of a run; None where they are not over a beginning of the source.

    A last epoch that was cut short is left out.
    """
    if view.is_delivery_order:
        by_rank = [_whole_passes(source.positions[rows] for rows in view.epochs.values())]
    else:
        by_rank = [_orders_of_rank(view, source, rows) for _, rows in view.by_rank()]
    orders = [order for orders in by_rank for order in orders]
    if not orders:
        return None
    present = span(_joined(orders))
    if present is None or present.start != 0:
        return None
    if len(by_rank) > 1 and not _all_read_everything(by_rank, len(present)):
        return None
    finite = all(are_distinct(order) for order in orders)
    if finite and any(len(order) < len(present) for order in orders):
        return None
    return Passes(source.size, len(present), orders, finite)


def _orders_of_rank(view: StreamView, source: Source, rows: Integers) -> list[Integers]:
    epoch = view.epoch[rows]
    return _whole_passes(source.positions[rows[epoch == number]] for number in distinct(epoch))


def _whole_passes(passes: Iterable[Integers]) -> list[Integers]:
    orders = list(passes)
    if len(orders) > 1 and len(orders[-1]) < len(orders[0]):
        orders.pop()
    return orders


def _all_read_everything(by_rank: list[list[Integers]], records: int) -> bool:
    return all(len(distinct(_joined(orders))) == records for orders in by_rank)


def _joined(orders: list[Integers]) -> Integers:
    return orders[0] if len(orders) == 1 else np.concatenate(orders)
