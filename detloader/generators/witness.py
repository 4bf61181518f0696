"""Looks at generators while a batch is made: which of them move, and from where to where."""

from __future__ import annotations

import operator
import random
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from detloader.generators.looks import NO_COLUMN, WORDS, Looks, Seen
from detloader.generators.memory import Pieces, pieces_of
from detloader.generators.search import find_generators
from detloader.generators.state import identity_of

__all__ = ["GLOBALS", "DrawWitness", "names_of_stored"]

GLOBALS = ("python", "numpy", "torch")
"""The generators that are there in every program, in the order of their columns."""

_SEARCHED = 2
"""Batches of a pass that are searched while they are made, and the next one where it begins.

The second tells what is made with a worker's first samples from what each sample makes anew.
"""

_WORD_BYTES = 8
_STATE_BYTES = WORDS * _WORD_BYTES
_join = b"".join


class DrawWitness:
    """Looks at generators before and after each sample, and at the end of each batch.

    A generator that is no longer held once another sample is made was of one sample: its path
    is not looked at again, as nobody could tell what each of those generators drew.

    Looking raises nothing: what went wrong is raised when what was seen is asked for.

    Attributes:
        one_off: which generators of a first batch, by their places in what was seen of it, turn
            out to have been of one sample; None where a batch tells nothing of the one before.
    """

    def __init__(self, holders: Mapping[str, object], names: Sequence[str]) -> None:
        """Say where to look.

        Args:
            holders: what may hold generators, by the beginning of their paths.
            names: paths of those generators that have a column of their own.
        """
        # Tried now, the ways to their states are known in each process that is forked.
        for generator in _global_generators().values():
            pieces_of(generator)
        self._holders = holders
        self._names = (*GLOBALS, *names)
        self._batches = 0
        self._searching = False
        self._held: dict[str, Any] = {}
        self._replaced: set[str] = set()
        self._found = _Found.of({}, self._names)
        self._seen: list[bytes] = []
        self._kept: list[float | None] = []
        self._read: list[bytes] = []
        self._failure: Exception | None = None
        self._added = 0
        self._first: Sequence[str] | None = None
        self.one_off: Sequence[int] | None = None

    def begin_pass(self) -> None:
        """Search again: where a pass over an iterable begins, generators may be made."""
        self._batches = 0
        self._first = None

    def begin(self) -> None:
        """Look at what comes before a batch's first sample."""
        self._seen, self._kept, self._read = [], [], []
        self._failure = None
        self._added = 0
        self._batches += 1
        self._searching = self._batches <= _SEARCHED
        if self._batches <= _SEARCHED + 1:
            self._search()
        self.look()

    def look(self) -> None:
        """Look at what comes after a sample, or after all of them were put together."""
        if self._searching and self._seen:
            self._searching = False
            self._add_new()
        found = self._found
        try:
            self._seen.append(_join(found.views))
            for keeper in found.keepers:
                self._kept.append(keeper.gauss_next)
            for read in found.reads:
                self._read.append(read())
        except Exception as error:  # noqa: BLE001  # whatever it is, the program goes on
            self._failure = error

    def looks(self, rows: int) -> Looks | None:
        """Return what was seen since the batch began; None where nothing moved.

        Args:
            rows: records of the batch.

        Raises:
            Exception: what went wrong while looking.
        """
        if self._failure is not None:
            raise self._failure
        if self._batches <= _SEARCHED:
            self._note_replaced(_stored_generators(self._holders))
            self._found = self._found.without_columns(self._replaced)
        found, number = self._found, len(self._seen)
        self._settle()
        keeps = any(self._kept)
        if not keeps and not self._read and self._seen.count(self._seen[0]) == number:
            return None
        samples = number - 2
        if samples > 1 and rows and samples % rows:
            message = f"{samples} samples were made for {rows} records"
            raise ValueError(message)
        kept = self._kept if keeps else ()
        # One look at samples cannot tell what was made with the first from what each makes.
        unsettled = self._added if self._batches == 1 and samples == 1 else 0
        return Looks(found.seen, number, _join(self._seen), kept, _join(self._read), unsettled)

    def _settle(self) -> None:
        first, self._first = self._first, self._found.paths if self._batches == 1 else None
        self.one_off = None
        if first is not None:
            self.one_off = [place for place, path in enumerate(first) if path in self._replaced]

    def _search(self) -> None:
        try:
            self._held = _stored_generators(self._holders)
            generators = _global_generators() | self._lasting()
            self._found = _Found.of(generators, self._names)
        except Exception as error:  # noqa: BLE001  # as above
            self._failure = error

    def _add_new(self) -> None:
        """Find what the first sample made; what was before it is seen as nothing."""
        try:
            known = self._found
            stored = _stored_generators(self._holders)
            if self._batches > 1:
                self._note_replaced(stored)
            self._held = stored
            new = {path: made for path, made in self._lasting().items() if not known.has(made)}
            if not new:
                return
            added = _Found.of(new, self._names)
        except Exception as error:  # noqa: BLE001  # as above
            self._failure = error
            return
        self._found = _Found(*map(operator.add, known, added))
        self._added = len(added.paths)
        self._seen[0] += bytes(sum(map(len, added.views)))
        self._kept += [None] * len(added.keepers)
        self._read += [bytes(_STATE_BYTES)] * len(added.reads)

    def _note_replaced(self, stored: Mapping[str, object]) -> None:
        """Note which paths had generators that nothing holds any more."""
        still = set(map(identity_of, stored.values()))
        gone = {path for path, made in self._held.items() if identity_of(made) not in still}
        self._replaced |= gone

    def _lasting(self) -> dict[str, Any]:
        return {path: made for path, made in self._held.items() if path not in self._replaced}


def names_of_stored(holders: Mapping[str, object]) -> list[str]:
    """Return the paths of the generators that objects hold, sorted; see `DrawWitness`."""
    return sorted(_stored_generators(holders))


class _Found(NamedTuple):
    """The generators that were found, and what of them is seen at each look.

    Attributes:
        seen: how each is seen.
        paths: where each was found.
        generators: those.
        pieces: where the state of each is found; they keep alive what is looked into.
        views: what is seen of all of them in memory.
        keepers: those of the `random` module, whose kept number is an attribute.
        reads: the public ways of those that are not seen in memory.
    """

    seen: tuple[Seen, ...]
    paths: list[str]
    generators: list[Any]
    pieces: list[Pieces]
    views: list[memoryview[int]]
    keepers: list[Any]
    reads: list[Callable[[], bytes]]

    @classmethod
    def of(cls, generators: Mapping[str, Any], names: Sequence[str]) -> _Found:
        pieces = {name: pieces_of(generator) for name, generator in generators.items()}
        return cls(
            tuple(_seen(piece, _column(name, names)) for name, piece in pieces.items()),
            list(generators),
            list(generators.values()),
            list(pieces.values()),
            [view for piece in pieces.values() for view in piece.views],
            [piece.keeper for piece in pieces.values() if piece.keeper is not None],
            [piece.read for piece in pieces.values() if piece.read is not None],
        )

    def has(self, generator: object) -> bool:
        """Tell whether a generator is among them."""
        return identity_of(generator) in map(identity_of, self.generators)

    def without_columns(self, paths: Collection[str]) -> _Found:
        """Return the same, where draws of those at some paths are not told."""
        seen = (
            seen._replace(column=NO_COLUMN) if path in paths else seen
            for path, seen in zip(self.paths, self.seen, strict=True)
        )
        return self._replace(seen=tuple(seen))


def _seen(piece: Pieces, column: int) -> Seen:
    return Seen(column, piece.size // _WORD_BYTES, piece.flagged, piece.keeper is not None)


def _column(name: str, names: Sequence[str]) -> int:
    """Return the place of a generator's own column, or else of the one that others share."""
    return names.index(name) if name in names else len(names)


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
    seen = set(map(identity_of, _global_generators().values()))
    stored: dict[str, Any] = {}
    for path, holder in holders.items():
        for name, generator in find_generators(holder, path).items():
            if identity_of(generator) not in seen:
                seen.add(identity_of(generator))
                stored[name] = generator
    return stored
