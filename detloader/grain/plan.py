"""Which records each element of a `to_grain` stream holds: a pure function of its arguments."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass

from detloader.order.permutation import Compatibility, RecordOrder

__all__ = ["Plan"]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The arguments of `to_grain` that decide order and draws, and what follows from them."""

    seed: int | None
    shuffle: bool
    size: int
    batch_size: int | None
    drop_remainder: bool
    num_epochs: int | None
    workers: int
    worker_buffer_size: int
    compatibility: Compatibility

    @functools.cached_property
    def order(self) -> RecordOrder:
        """The source index at each position of the stream."""
        return RecordOrder(
            self.size,
            seed=self.seed if self.shuffle else None,
            num_epochs=self.num_epochs,
            compatibility=self.compatibility,
        )

    @property
    def elements(self) -> int:
        """Elements of the stream; an endless one has `sys.maxsize`, as Grain counts them."""
        if self.order.total is None:
            return sys.maxsize
        if self.batch_size is None:
            return self.order.total
        whole, rest = divmod(self.order.total, self.batch_size)
        return whole + (rest > 0 and not self.drop_remainder)

    def span(self, element: int) -> tuple[int, int]:
        """Return the positions [start, stop) in the stream of one element's records."""
        size = self.batch_size or 1
        start = element * size
        stop = start + size
        return start, stop if self.order.total is None else min(stop, self.order.total)
