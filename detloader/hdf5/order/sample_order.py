"""Which row of the table stands at each position of a shard's stream, and of the whole one.

The permutation of a pass is that of `detloader.order.permutation`, seeded as Grain seeds a
`shuffle()` that stands right behind `seed(s)`. Shard i of S has its positions i, i + S, ….
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from detloader.hdf5.arguments import Compatibility, Remainder
from detloader.order.permutation import RecordOrder

__all__ = ["SampleOrder", "Shard", "Span"]


@dataclass(frozen=True, kw_only=True)
class Shard:
    """The part of each pass that one rank reads.

    Attributes:
        index: number of the rank.
        count: ranks.
        remainder: what becomes of the samples that do not go round: "keep" gives them to
            the first ranks, "drop" to none, "pad" evens out by the pass's first samples.
    """

    index: int
    count: int
    remainder: Remainder

    def rows(self, size: int) -> int:
        """Return this rank's rows of a pass over `size` samples."""
        match self.remainder:
            case "drop":
                return size // self.count
            case "pad":
                return -(-size // self.count)
            case "keep":
                return len(range(self.index, size, self.count))


class Span(NamedTuple):
    """What a stretch of a shard's stream holds, row by row.

    Attributes:
        rows: int64: row of the table.
        positions: int64: place in the stream of all shards together, which is what draws
            follow; no two shards share one.
        passes: int64: pass over the table, from 0.
        padding: bool: whether the row was only added to even out the shards.
    """

    rows: NDArray[np.int64]
    positions: NDArray[np.int64]
    passes: NDArray[np.int64]
    padding: NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class SampleOrder:
    """The order of one shard, pass after pass.

    Attributes:
        size: rows of the table.
        seed: that of the pipeline; None leaves the table's order.
        shard: the part of it that is read here.
        compatibility: "zea-0.1" has Grain's order also at the sizes 2**k + 1 (k even, at
            least 16) where that is no permutation.
    """

    size: int
    seed: int | None
    shard: Shard
    compatibility: Compatibility = None

    @functools.cached_property
    def rows_of_pass(self) -> int:
        """Rows that this shard has of each pass."""
        return self.shard.rows(self.size)

    @property
    def whole_pass(self) -> int:
        """Positions that a pass has over all shards."""
        keep = self.shard.remainder == "keep"
        return self.size if keep else self.rows_of_pass * self.shard.count

    def span(self, start: int, stop: int) -> Span:
        """Return what the shard's stream holds at the places start <= p < stop."""
        passes, places = np.divmod(np.arange(start, stop), self.rows_of_pass)
        positions = self.shard.index + places * self.shard.count
        padding = positions >= self.size
        return Span(
            rows=self._permuted(passes, positions % self.size),
            positions=positions + passes * self.whole_pass,
            passes=passes,
            padding=padding,
        )

    def _permuted(
        self, passes: NDArray[np.int64], positions: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        rows = np.empty_like(positions)
        for number in np.unique(passes):
            here = passes == number
            wanted = positions[here]
            first, last = int(wanted.min()), int(wanted.max())
            base = int(number) * self.size
            rows[here] = self._order.indices(base + first, base + last + 1)[wanted - first]
        return rows

    @functools.cached_property
    def _order(self) -> RecordOrder:
        seed = None
        if self.seed is not None:
            # Grain's own for a node at distance 1 from the one that holds the seed.
            seed = int(np.random.SeedSequence([self.seed, 1]).generate_state(1)[0])
        return RecordOrder(
            self.size,
            seed=seed,
            num_epochs=None,
            compatibility="published" if self.compatibility else None,
        )
