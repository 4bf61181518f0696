"""How many records a loader loses at the end of an epoch, and by which operation.

A record count, a batch size and numbers of ranks and workers decide it; the models
here are the ways in which loaders are known to do so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from detloader.audits.columns import Integers

__all__ = ["Shape", "Tail", "fixed_positions", "lengths_of_padding", "tails"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What decides how many records an epoch loses.

    Attributes:
        size: records in the source.
        batch_size: rows of a batch of one rank; None where it is unknown.
        ranks: ranks that share the source, at least 1.
        workers: worker processes of a rank; 0 or 1 do not divide anything.
        drop_remainder: as declared; None where it is unknown.
        drops_uneven: whether what is left over of the deal to ranks is declared to be dropped.
    """

    size: int
    batch_size: int | None
    ranks: int
    workers: int
    drop_remainder: bool | None
    drops_uneven: bool = False

    @property
    def loss_of_one_batcher(self) -> int:
        """Records that one batcher (or one deal to the ranks) would lose."""
        if self.drop_remainder is False:
            return self.size % self.ranks if self.drops_uneven else 0
        return self.size % ((self.batch_size or 1) * self.ranks)


@dataclass(frozen=True, slots=True)
class Tail:
    """One way to lose records.

    Attributes:
        explanation: its name.
        lost: records lost in an epoch.
        cause: what the loader does, in a sentence.
        parts: records that each part (rank, or worker of a rank) loses; empty where there is none.
    """

    explanation: str
    lost: int
    cause: str
    parts: tuple[int, ...] = ()


def tails(shape: Shape) -> Iterator[Tail]:
    """Give the ways to lose records at the end of an epoch, the plainest first."""
    batch, ranks = shape.batch_size, shape.ranks
    if ranks > 1 and shape.drops_uneven:
        yield _of_ranks(shape)
    if batch:
        yield from _of_batches(shape, batch)
    if ranks > 1:
        yield _of_ranks(shape)
    if batch and shape.workers > 1:
        yield _of_workers(shape, batch)
    if shape.workers > 1 and (batch or shape.drop_remainder is False):
        yield Tail(
            "workers",
            shape.size % shape.workers,
            f"The source is dealt out evenly to {shape.workers} workers, and what is left over "
            "is dropped.",
        )
    if batch and ranks == 1 and shape.size % batch == 0:
        yield Tail(
            "last batch",
            min(batch, shape.size),
            "A stage that looks ahead keeps the last batch, and loses it when the source ends.",
        )


def _of_ranks(shape: Shape) -> Tail:
    return Tail(
        "ranks",
        shape.size % shape.ranks,
        f"The source is dealt out evenly to {shape.ranks} ranks, and what is left over is dropped.",
    )


def _of_batches(shape: Shape, batch: int) -> Iterator[Tail]:
    """Give the ways in which batches of ranks leave a remainder."""
    ranks = shape.ranks
    cause = f"The last batch of fewer than {batch * ranks} records is dropped."
    if ranks == 1:
        yield Tail("batch", shape.size % batch, cause)
        return
    yield Tail("batches of ranks", shape.size % (batch * ranks), cause)
    each = tuple(length % batch for length in _deal(shape.size, ranks))
    yield Tail(
        "batches of ranks",
        sum(each),
        f"Each rank drops its last batch of fewer than {batch}.",
        each,
    )


def _of_workers(shape: Shape, batch: int) -> Tail:
    each = tuple(
        length % batch
        for of_rank in _deal(shape.size, shape.ranks)
        for length in _deal(of_rank, shape.workers)
    )
    return Tail(
        "batches of workers",
        sum(each),
        f"Batches are formed inside {shape.workers} workers, and each drops its own remainder.",
        each,
    )


def _deal(size: int, parts: int) -> list[int]:
    """Deal records out: the first parts have one more than the others."""
    return [size // parts + (part < size % parts) for part in range(min(parts, _MOST_PARTS))]


_MOST_PARTS = 2**16
"""Workers or ranks that anybody has; whoever declares more shall not be waited for."""


def fixed_positions(shape: Shape, tail: Tail) -> list[Integers]:
    """Give the source positions that a tail loses without a shuffle, in each known way to deal."""
    if not tail.parts:
        return [np.arange(shape.size - tail.lost, shape.size)]
    counts = [shape.ranks, shape.workers] if tail.explanation.endswith("workers") else [shape.ranks]
    batch = shape.batch_size or 1
    return [
        np.sort(np.concatenate([part[len(part) - len(part) % batch :] for part in parts]))
        for parts in _dealt(np.arange(shape.size), counts)
    ]


def _dealt(places: Integers, counts: list[int]) -> Iterator[list[Integers]]:
    """Deal places out at each level, by turns or in slices; give each way to do so."""
    if not counts:
        yield [places]
        return
    first, *further = counts
    by_turns = [places[part::first] for part in range(first)]
    for dealt in (by_turns, np.array_split(places, first)):
        for parts in zip(*(_dealt(part, further) for part in dealt), strict=True):
            yield [place for part in parts for place in part]


def lengths_of_padding(shape: Shape) -> dict[int, str]:
    """Give the numbers of rows added to even out an epoch, and what each evens out."""
    lengths: dict[int, str] = {}
    if shape.batch_size and shape.ranks > 1:
        lengths[-shape.size % (shape.batch_size * shape.ranks)] = "the batches of the ranks"
    if shape.batch_size:
        lengths[-shape.size % shape.batch_size] = f"batches of {shape.batch_size}"
    if shape.ranks > 1:
        lengths[-shape.size % shape.ranks] = f"{shape.ranks} ranks"
    return lengths
