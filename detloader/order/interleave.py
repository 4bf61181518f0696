"""The implicit partitioning of older loaders: a model of it, and its traces in an order.

helia-edge 0.6.2 and earlier cut the IDs into equal contiguous parts, one for
each worker, left the remainder out, ran one ID generator on each part, and
merged what the parts delivered as it came. Two things follow that nobody asked
for: the last few IDs never come, and each part has the same share of the
stream whatever it holds.
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

import numpy as np

from detloader.errors import UsageError
from detloader.order.partition import contiguous_floor
from detloader.order.schedule import random_id_generator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "OlderInterleave",
    "fitting_partition_counts",
    "fitting_remainders",
    "older_random_id_generator",
    "oversampling",
]

T = TypeVar("T")


class OlderInterleave(Generic[T]):
    """What the older loader delivers; each iteration is one traversal of it.

    The parts live as long as the loader, as they did: a generator that shuffles
    its part in place finds it on the next traversal as it left it, and never moves
    an ID to another part. The caller's `ids` stay as they are, where the older
    loader shuffled an array of the caller's. A part that repeats although none of
    its IDs has a sample runs for ever, as it did.

    Attributes:
        parts: the IDs of each worker.
        dropped: the last len(ids) mod len(parts) IDs, which no part has.
    """

    def __init__(
        self,
        ids: Sequence[T],
        *,
        id_generator: Callable[[list[T]], Iterable[T]],
        num_workers: int = 4,
        samples_per_id: Callable[[T], int] | None = None,
        merge: Literal["random", "round_robin"] = "random",
        rng: random.Random | None = None,
    ) -> None:
        """Cut the IDs into parts.

        Args:
            ids: record IDs in the caller's order, at least one; duplicates count.
            id_generator: called with each part's list; yields IDs to visit.
            num_workers: parts wanted; more than there are IDs count as one for each.
            samples_per_id: samples that a visit to an ID delivers; 1 by default.
                Parts are merged sample by sample, so that visits interleave.
            merge: "random" lets any part that still has samples come next, for the
                real merge depended on timing and never repeated itself;
                "round_robin" is the ideal that it departed from.
            rng: decides the random merge; None takes a new one, seeded by the system.
                Global random state is never touched here. A generator that
                `id_generator` draws from may be shared; two of the same seed may
                not, for they would draw in step.

        Raises:
            UsageError: there are no IDs, or num_workers is below 1. The older loader
                failed there as well.
        """
        if len(ids) == 0:
            raise UsageError("ids is empty; the older loader needs at least one ID")
        if num_workers < 1:
            raise UsageError(f"num_workers is {num_workers}; give 1 or more")
        ranges = contiguous_floor(len(ids), num_workers)
        self.parts = [[ids[position] for position in part] for part in ranges]
        self.dropped = list(ids[ranges[-1].stop :])
        self._id_generator = id_generator
        self._samples_per_id = samples_per_id
        self._merge = merge
        self._rng = rng or random.Random()  # noqa: S311 - an order, not a secret

    def __iter__(self) -> Iterator[T]:
        """Yield the ID of each delivered sample."""
        streams = [self._samples(part) for part in self.parts]
        turn = 0
        while streams:
            turn %= len(streams)
            if self._merge == "random":
                turn = self._rng.randrange(len(streams))
            try:
                delivered = next(streams[turn])
            except StopIteration:
                del streams[turn]
            else:
                yield delivered
                turn += 1

    def _samples(self, part: list[T]) -> Iterator[T]:
        for visited in self._id_generator(part):
            count = 1 if self._samples_per_id is None else self._samples_per_id(visited)
            yield from [visited] * count


def older_random_id_generator(
    ids: Sequence[T],
    weights: object = None,  # noqa: ARG001 - that nothing reads it is the behaviour
    *,
    rng: random.Random | None = None,
) -> Iterator[T]:
    """Draw IDs uniformly, whatever the weights say; they were accepted and never read.

    Behind the older loader every kept ID has the share 1 / (W * s), with W parts of
    s IDs; an ID of weight zero comes like any other, and weights of a wrong length
    or sign raise nothing.
    """
    return random_id_generator(ids, rng=rng)


def oversampling(samples: ArrayLike, parts: int) -> NDArray[np.float64]:
    """Tell how far each ID's share of a repeating stream departs from its share of the data.

    Each of the W parts that have samples gives 1 / W of the stream. An ID in a part
    of V_i samples is therefore delivered V / (W * V_i) times as often as it would be
    from one global stream of V samples; one that no part holds, 0 times as often.

    Args:
        samples: samples that one visit to each ID delivers, shape (n,), in order of the IDs.
        parts: the worker count; no more than n parts are made.

    Returns:
        float64, shape (n,): 1 where the share is right. 0 in parts without any sample.

    Raises:
        UsageError: parts is below 1.
    """
    samples = np.asarray(samples, np.float64)
    factors = np.zeros(len(samples))
    slices = [slice(part.start, part.stop) for part in contiguous_floor(len(samples), parts)]
    delivering = [part for part in slices if samples[part].any()]
    for part in delivering:
        factors[part] = samples.sum() / (len(delivering) * samples[part].sum())
    return factors


def fitting_partition_counts(order: NDArray[np.int64], size: int) -> list[int]:
    """List the worker counts that would explain a finite order of source positions.

    W parts of s = size // W positions fit where the order has exactly the positions
    0 to W * s - 1, each once, and those of each part stand in ascending order.
    Whether that is remarkable is for the caller to judge: the source order fits
    whatever drops nothing, and parts of a single position fit any order.

    Args:
        order: int64, shape (k,): source positions as they were delivered in one pass.
        size: records in the source.

    Returns:
        Every fitting W from 2 to size, ascending.
    """
    kept = len(order)
    if kept == 0 or order.min() < 0 or order.max() >= kept:
        return []
    place = np.full(kept, -1, np.int64)
    place[order] = np.arange(kept)
    if place.min() < 0:
        return []
    # A position that comes before its predecessor must be the first of its part:
    # the length of the parts divides every such position.
    firsts = np.flatnonzero(place[1:] < place[:-1]) + 1
    length = math.gcd(kept, int(np.gcd.reduce(firsts)))
    counts = (kept // divisor for divisor in _divisors(length))
    return sorted(count for count in counts if count > 1 and size // count == kept // count)


def fitting_remainders(dropped_tail: int, size: int) -> list[int]:
    """List the worker counts that would drop a tail of that length.

    Args:
        dropped_tail: how many of the last positions never came, 0 to `size`.
        size: records in the source.

    Returns:
        Every W from 2 to size with size mod W equal to `dropped_tail`, ascending.
    """
    return [count for count in _divisors(size - dropped_tail) if count > max(dropped_tail, 1)]


def _divisors(number: int) -> list[int]:
    """Ascending; none of 0."""
    small = [divisor for divisor in range(1, math.isqrt(number) + 1) if number % divisor == 0]
    return sorted({*small, *(number // divisor for divisor in small)})
