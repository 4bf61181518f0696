"""Nodes and functions that stand above the probe in a witnessed copy of a user's Grain graph.

There each element is paired with its `Rows`, so that filters, shuffles and batches move both
alike. A random transform may stand below it, too, where elements are the user's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import grain
import numpy as np
from grain._src.python.record import Record

from detloader.adapters.grain.rows import Draw, Packed, Rows
from detloader.adapters.grain.sources import note
from detloader.grain.iterators import PassingIterator
from detloader.manifest.content import UndigestibleError
from detloader.manifest.rounding import Digester
from detloader.randomness import philox_place

__all__ = [
    "Batching",
    "Choosing",
    "Drawing",
    "Indexing",
    "Mapping",
    "PassCounter",
    "Passing",
    "Seal",
]

Pair: TypeAlias = tuple[Any, Rows]


class Drawing:
    """A random transform that notes what it draws; on pairs, it adds the draw to the rows."""

    def __init__(self, function: Callable[..., Any], operation: int, *, pairs: bool) -> None:
        self._function = function
        self._operation = operation
        self._pairs = pairs

    def __call__(self, element: Any, rng: np.random.Generator) -> Any:
        """Transform, then read the generator's own counter."""
        if not self._pairs:
            made = self._function(element, rng)
            note(self._draw(rng))
            return made
        sample, rows = element
        made = self._function(sample, rng)
        return None if made is None else (made, rows.drawn(self._draw(rng)))

    def _draw(self, rng: np.random.Generator) -> Draw:
        place = philox_place(rng.bit_generator)
        return Draw(self._operation, place.position, place.words)


class Mapping:
    """A transform, applied to the first of a pair."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def __call__(self, pair: Pair) -> Pair | None:
        """Transform the element."""
        sample, rows = pair
        made = self._function(sample)
        if made is None:
            return None
        # A record that loses its generator here has drawn all that it will.
        return made, rows if isinstance(made, Record) else _closed(sample, rows)


class Indexing:
    """A transform that gets an index, applied to the first of a pair."""

    def __init__(self, function: Callable[[int, Any], Any]) -> None:
        self._function = function

    def __call__(self, index: int, pair: Pair) -> Pair | None:
        """Transform the element."""
        made = self._function(index, pair[0])
        return None if made is None else (made, pair[1])


class Choosing:
    """A filter, asked about the first of a pair."""

    def __init__(self, function: Callable[[Any], bool]) -> None:
        self._function = function

    def __call__(self, pair: Pair) -> bool:
        """Ask about the element."""
        return self._function(pair[0])


class Batching:
    """A batch function, applied to the elements; the rows are joined."""

    def __init__(self, function: Callable[[Sequence[Any]], Any]) -> None:
        self._function = function

    def __call__(self, pairs: Sequence[Pair]) -> Pair:
        """Make the batch."""
        samples = [sample for sample, _ in pairs]
        made = self._function(samples)
        return made, Rows.joined([_closed(sample, rows) for sample, rows in pairs])


class PassCounter(grain.IterDataset[Any]):
    """Counts on the epochs of a stream that is started again and again by a `repeat` above."""

    def __iter__(self) -> grain.DatasetIterator[Any]:
        """Begin with the first pass."""
        return _CountedPasses(self._parent.__iter__())


class Passing(PassingIterator):
    """An iterator that stands where its parent does."""

    def _get_next_index(self) -> int:
        return int(self._parent._get_next_index())  # noqa: SLF001 - as Grain's nodes do

    def _set_next_index(self, next_index: int) -> None:
        self._parent._set_next_index(next_index)  # noqa: SLF001


class _CountedPasses(Passing):
    def __init__(self, parent: grain.DatasetIterator[Any]) -> None:
        super().__init__(parent)
        self._before = 0
        self._epochs = 0
        self._ended = False

    def __next__(self) -> Any:
        try:
            element, rows = next(self._parent)
        except StopIteration:
            self._ended = True
            raise
        if self._ended:
            self._before += self._epochs
            self._epochs, self._ended = 0, False
        self._epochs = max(self._epochs, 1 + max(read.epoch for read in rows.reads))
        return element, rows.later(self._before)


class Seal(grain.IterDataset[Any]):
    """Turns rows into bytes before an element leaves its process, with its content's digests."""

    def __init__(
        self,
        parent: grain.IterDataset[Any],
        operations: int,
        *,
        batched: bool,
        digester: Digester | None,
    ) -> None:
        super().__init__(parent)
        self._operations = operations
        self._batched = batched
        self._digester = digester

    def __iter__(self) -> grain.DatasetIterator[Any]:
        """Begin with the parent."""
        return _Sealed(self._parent.__iter__(), self._seal)

    def _seal(self, element: Any, rows: Rows | Packed, digests: bytes = b"") -> Any:
        if isinstance(rows, Packed):
            return element, rows, digests  # as a worker sealed it
        packed = _closed(element, rows).pack(self._operations)
        if self._digester is not None:
            digests = _digests(self._digester, element, packed.size, batched=self._batched)
        return element, packed, digests


class _Sealed(Passing):
    def __init__(self, parent: grain.DatasetIterator[Any], seal: Callable[..., Any]) -> None:
        super().__init__(parent)
        self._seal = seal

    def __next__(self) -> Any:
        return self._seal(*next(self._parent))


def _closed(element: Any, rows: Rows) -> Rows:
    """Add what was drawn from the generator that a `grain.DataLoader` gives each record."""
    if not isinstance(element, Record) or any(rows.draws):
        return rows
    rng = element.metadata.rng
    if rng is None:
        return rows
    place = philox_place(rng.bit_generator)
    return rows.drawn(Draw(0, place.key, place.words)) if place.words else rows


def _digests(digester: Digester, element: Any, count: int, *, batched: bool) -> bytes:
    """Give the digests of an element's samples; nothing where they cannot be told apart."""
    try:
        if not batched:
            return digester.samples([element]).tobytes() * count
        digests = digester.batch(element)
    except UndigestibleError:
        return b""
    return digests.tobytes() if len(digests) == count else b""
