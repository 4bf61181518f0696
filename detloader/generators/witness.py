"""Which generators moved while each sample of a batch was made, and from where to where."""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detloader.generators.folding import ODD, fold_draws
from detloader.generators.memory import Pieces, pieces_of
from detloader.generators.search import find_generators

__all__ = ["GLOBALS", "DrawWitness", "names_of_stored"]

GLOBALS = ("python", "numpy", "torch")
"""The generators that are there in every program, in the order of their columns."""

_WORD_BYTES = 8
_WORDS = 4
"""Words of a generator's state."""

_join = b"".join

_FACTORS = np.cumprod(np.full(_WORDS, ODD))


class DrawWitness:
    """Looks at generators before and after each sample, and at the end of each batch.

    The digest of a draw is made of the states before and after it: it is the same wherever
    the same numbers come from copies of one generator. Looking raises nothing: what went
    wrong is raised when the draws are asked for.
    """

    def __init__(self, holders: Mapping[str, object], names: Sequence[str]) -> None:
        """Say where to look.

        Args:
            holders: what may hold generators, by the beginning of their paths.
            names: paths of those generators that have a column of their own.
        """
        # Tried now, the ways to their states are known in each process that is forked.
        _Found.of(_global_generators())
        self._holders = holders
        self._names = (*GLOBALS, *names)
        self._searches = 2
        self._found = _Found.of({})
        self._seen: list[bytes] = []
        self._kept: list[float | None] = []
        self._read: list[bytes] = []
        self._failure: Exception | None = None

    def begin(self) -> None:
        """Look at what comes before a batch's first sample."""
        self._seen, self._kept, self._read = [], [], []
        self._failure = None
        if self._searches:
            # A second time, for what is made with a worker's first sample.
            self._searches -= 1
            self._search()
        self.look()

    def look(self) -> None:
        """Look at what comes after a sample, or after all of them were put together."""
        found = self._found
        try:
            self._seen.append(_join(found.views))
            for keeper in found.keepers:
                self._kept.append(keeper.gauss_next)
            for read in found.reads:
                self._read.append(read())
        except Exception as error:  # noqa: BLE001  # whatever it is, the program goes on
            self._failure = error

    def draws(self, rows: int) -> NDArray[np.uint64]:
        """Digest what was drawn since the batch began.

        The last look is the batch's, and concerns all rows; those before it are the samples',
        one for each, or several where each is made of parts: of all samples the first part,
        then of all the second. Where there is one look for all, their draws are told apart
        by their places.

        Args:
            rows: records of the batch.

        Returns:
            uint64, shape (rows, 3 + names + 1): the global generators, those named, and all
            others together; 0 where nothing was drawn.

        Raises:
            Exception: what went wrong while looking.
        """
        if self._failure is not None:
            raise self._failure
        digests = np.zeros((rows, len(self._names) + 1), np.uint64)
        for name, states in self._found.moved(self._seen, self._kept, self._read):
            drawn = _drawn(states)
            column = self._names.index(name) if name in self._names else len(self._names)
            for part in [*_parts(drawn[:-1], rows), drawn[-1:]]:
                if part.any():
                    digests[:, column] = fold_draws(digests[:, column], part)
        return digests

    def _search(self) -> None:
        try:
            self._found = _Found.of(_global_generators() | _stored_generators(self._holders))
        except Exception as error:  # noqa: BLE001  # as above
            self._failure = error


def names_of_stored(holders: Mapping[str, object]) -> list[str]:
    """Return the paths of the generators that objects hold, sorted; see `DrawWitness`."""
    return sorted(_stored_generators(holders))


def _drawn(states: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Digest the draws between looks, from states of shape (looks, 4)."""
    digests = states @ _FACTORS
    before, after = digests[:-1], digests[1:]
    return np.where(before == after, np.uint64(0), before * ODD + after)


def _parts(drawn: NDArray[np.uint64], rows: int) -> NDArray[np.uint64]:
    """Give what samples drew, in turn: shape (parts, rows)."""
    if len(drawn) >= rows:
        return drawn.reshape(-1, max(rows, 1))
    return np.where(drawn == 0, drawn, fold_draws(drawn, np.arange(rows, dtype=np.uint64)))[None]


class _Found(NamedTuple):
    """The generators that were found, and what of them is seen at each look.

    Attributes:
        pieces: where the state of each is found, by its path.
        views: what is seen of all of them in memory.
        keepers: those of the `random` module, whose kept number is an attribute.
        reads: the public ways of those that are not seen in memory.
    """

    pieces: dict[str, Pieces]
    views: list[memoryview[int]]
    keepers: list[Any]
    reads: list[Callable[[], bytes]]

    @classmethod
    def of(cls, generators: Mapping[str, Any]) -> _Found:
        pieces = {name: pieces_of(generator) for name, generator in generators.items()}
        return cls(
            pieces,
            [view for piece in pieces.values() for view in piece.views],
            [piece.keeper for piece in pieces.values() if piece.keeper is not None],
            [piece.read for piece in pieces.values() if piece.read is not None],
        )

    def moved(
        self, seen: Sequence[bytes], kept: Sequence[float | None], read: Sequence[bytes]
    ) -> Iterator[tuple[str, NDArray[np.uint64]]]:
        """Give the states of each generator that moved, at all looks: uint64, shape (looks, 4)."""
        in_memory = np.frombuffer(_join(seen), np.uint64).reshape(len(seen), -1)
        by_read = np.frombuffer(_join(read), np.uint64).reshape(len(seen), -1, _WORDS)
        # Asked of all at once: most generators of most batches stand still.
        changed = (in_memory != in_memory[0]).any(axis=0).tolist()
        start = 0
        keepers, reads = itertools.count(), itertools.count()
        for name, piece in self.pieces.items():
            if piece.read is not None:
                yield name, by_read[:, next(reads)]
                continue
            numbers = () if piece.keeper is None else kept[next(keepers) :: len(self.keepers)]
            stop = start + piece.size // _WORD_BYTES
            if any(changed[start:stop]) or len(set(numbers)) > 1:
                yield name, piece.words(in_memory[:, start:stop], numbers)
            start = stop


def _global_generators() -> dict[str, Any]:
    found: dict[str, Any] = {
        "python": random._inst,  # noqa: SLF001 - no public name
        "numpy": np.random.mtrand._rand,  # noqa: SLF001 - as above
    }
    if (torch := sys.modules.get("torch")) is not None:
        found["torch"] = torch.default_generator
    return found


def _stored_generators(holders: Mapping[str, object]) -> dict[str, Any]:
    """Find what is held, but for what is the whole program's, each of them once."""
    seen = set(map(id, _global_generators().values()))
    stored: dict[str, Any] = {}
    for path, holder in holders.items():
        for name, generator in find_generators(holder, path).items():
            if id(generator) not in seen:
                seen.add(id(generator))
                stored[name] = generator
    return stored
