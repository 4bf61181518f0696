"""What one element of a Grain dataset is made of: records read, draws taken.

Rows travel with their element through the pipeline, and as bytes out of a worker process.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Draw", "Packed", "Read", "Rows", "attribute", "unpack"]


class Read(NamedTuple):
    """One record that a source gave: which source, in which pass over it, at which place."""

    source: int
    epoch: int
    place: int


class Draw(NamedTuple):
    """What a random transform took: which one, in which stream, how many 32-bit words.

    A stream is the index that a `random_map` was given, or the Philox key of a record.
    """

    operation: int
    stream: int
    words: int


@dataclass(frozen=True, slots=True)
class Rows:
    """The records of one element, in the order in which it holds them.

    Attributes:
        number: index of the element that the records were read for.
        reads: one for each record.
        draws: those taken for each record, shape (records, any number).
    """

    number: int
    reads: tuple[Read, ...]
    draws: tuple[tuple[Draw, ...], ...]

    def drawn(self, draw: Draw) -> Rows:
        """Add a draw that was taken for the element as a whole."""
        return replace(self, draws=tuple((*taken, draw) for taken in self.draws))

    def later(self, epochs: int) -> Rows:
        """Count so many passes more."""
        if not epochs:
            return self
        reads = tuple(read._replace(epoch=read.epoch + epochs) for read in self.reads)
        return replace(self, reads=reads)

    @staticmethod
    def joined(parts: Sequence[Rows]) -> Rows:
        """Put the rows of the elements of a batch together."""
        return Rows(
            parts[0].number,
            tuple(read for part in parts for read in part.reads),
            tuple(draws for part in parts for draws in part.draws),
        )

    def pack(self, operations: int) -> Packed:
        """Give what leaves a worker process; its arrays would each take shared memory."""
        streams = np.zeros((len(self.reads), operations), np.int64)
        words = np.zeros((len(self.reads), operations), np.uint32)
        for row, draws in enumerate(self.draws):
            for draw in draws:
                streams[row, draw.operation] = _as_int64(draw.stream)
                words[row, draw.operation] = draw.words
        return Packed(
            self.number,
            len(self.reads),
            np.array(self.reads, np.int64).tobytes(),
            streams.tobytes(),
            words.tobytes(),
        )


class Packed(NamedTuple):
    """Rows as bytes: int64 reads (rows, 3); int64 streams, uint32 words (rows, operations)."""

    number: int
    size: int
    reads: bytes
    streams: bytes
    words: bytes


def unpack(
    packed: Iterable[Packed], operations: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32]]:
    """Return reads, streams and words of many elements, one row for each record."""
    packed = list(packed)
    reads = np.frombuffer(b"".join([rows.reads for rows in packed]), np.int64).reshape(-1, 3)
    streams = np.frombuffer(b"".join([rows.streams for rows in packed]), np.int64)
    words = np.frombuffer(b"".join([rows.words for rows in packed]), np.uint32)
    shape = (len(reads), operations)
    return reads, streams.reshape(shape), words.reshape(shape)


def attribute(number: int, events: Sequence[Read | Draw]) -> Rows:
    """Tell which draws belong to which record, of all that was seen while an element was made.

    The draws of one transform belong to as many records each: to one where it ran on
    records, to all where it ran on a batch. It does not matter whether a batch's records were
    transformed one by one or in turns.
    """
    reads = tuple(event for event in events if isinstance(event, Read))
    if len(events) == len(reads):
        return Rows(number, reads, ((),) * len(reads))
    taken: list[list[Draw]] = [[] for _ in reads]
    by_operation: dict[int, list[Draw]] = {}
    for event in events:
        if isinstance(event, Draw):
            by_operation.setdefault(event.operation, []).append(event)
    for draws in by_operation.values():
        share = max(len(reads) // len(draws), 1)
        for row in range(len(reads)):
            taken[row].append(draws[min(row // share, len(draws) - 1)])
    return Rows(number, reads, tuple(map(tuple, taken)))


def _as_int64(word: int) -> Any:
    return np.uint64(word & 0xFFFF_FFFF_FFFF_FFFF).astype(np.int64)
