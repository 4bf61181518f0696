"""What was seen of generators while a batch was made, and the digests of what was drawn.

Looking is done where batches are made, between samples, and is as little as can be: what was
seen is made draws of later, of many batches at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from detloader.generators.folding import ODD, fold_draws
from detloader.generators.memory import state_of
from detloader.generators.state import INCREMENT, PLACE, follow

__all__ = ["NO_COLUMN", "WORDS", "Looks", "Seen", "digest_draws"]

NO_COLUMN = -1
"""That of a generator whose draws are not told."""

WORDS = 4
"""Words of a generator's state."""

_OF_BLOCK = 1
"""That word of a Mersenne Twister's state which is none but of its block; see `state`."""

_FACTORS = np.cumprod(np.full(WORDS, ODD))


class Seen(NamedTuple):
    """How one generator is seen.

    Attributes:
        column: where the digests of its draws belong, or `NO_COLUMN`.
        words: of its state in memory, those that a look takes; 0 where it is read by public ways.
        flagged: whether the last of them tells whether the one before it counts.
        kept: whether a look takes a number besides, as the `random` module keeps it.
    """

    column: int
    words: int
    flagged: bool
    kept: bool


class Looks(NamedTuple):
    """What was seen while one batch was made: before it, and after each of its samples.

    The last look is the batch's, and concerns all rows; those before it are the samples',
    one for each, or several where each is made of parts: of all samples the first part,
    then of all the second. Where there is one look for all, their draws are told apart
    by their places.

    Attributes:
        generators: those that are seen, in the order in which each look sees them.
        number: how many looks there were.
        memory: uint64, shape (looks, words of all).
        kept: shape (looks, generators that keep a number); nothing where none was kept.
        read: uint64, shape (looks, generators without words, 4).
        unsettled: how many of the generators, the last ones, may have been made for one sample.
    """

    generators: tuple[Seen, ...]
    number: int
    memory: bytes
    kept: Sequence[float | None]
    read: bytes
    unsettled: int = 0

    def without(self, places: Collection[int]) -> Looks:
        """Return the same, where draws of some generators are not told."""
        untold = (
            seen._replace(column=NO_COLUMN) if place in places else seen
            for place, seen in enumerate(self.generators)
        )
        return self._replace(generators=tuple(untold), unsettled=0)


def digest_draws(batches: Sequence[tuple[int, Looks | None]], columns: int) -> NDArray[np.uint64]:
    """Digest what was drawn for the rows of batches.

    The digest of a draw is made of the states before and after it: it is the same wherever
    the same numbers come from copies of one generator. Where a Mersenne Twister has made all its
    words anew, or a PCG64 was set, that after it alone: a sample that seeds it has the same draws
    after any other.

    Args:
        batches: of each, how many rows it has, and what was seen; None where nothing moved.
        columns: how many columns of digests there are.

    Returns:
        uint64, shape (rows of all, columns); 0 where nothing was drawn.
    """
    digests = np.zeros((sum(rows for rows, _ in batches), columns), np.uint64)
    start = 0
    for (rows, _, seen), group in itertools.groupby(batches, _form):
        looks = [look for _, look in group]
        stop = start + rows * len(looks)
        if seen:
            found = [look for look in looks if look is not None]
            _digest(digests[start:stop].reshape(len(looks), rows, columns), found)
        start = stop
    return digests


def _form(batch: tuple[int, Looks | None]) -> tuple[int, int, tuple[Seen, ...]]:
    rows, looks = batch
    return (rows, 0, ()) if looks is None else (rows, looks.number, looks.generators)


def _digest(digests: NDArray[np.uint64], looks: Sequence[Looks]) -> None:
    """Add the draws of batches of one form to digests of shape (batches, rows, columns)."""
    shape, rows = (len(looks), looks[0].number), digests.shape[1]
    generators = looks[0].generators
    memory = np.frombuffer(b"".join(look.memory for look in looks), np.uint64).reshape(*shape, -1)
    read = np.frombuffer(b"".join(look.read for look in looks), np.uint64)
    read = read.reshape(*shape, -1, WORDS)
    keepers = sum(seen.kept for seen in generators)
    kept = np.array([_numbers(look, keepers) for look in looks]).reshape(*shape, keepers)
    start = keeper = reader = 0
    for seen in generators:
        if not seen.words:
            states, reader = read[..., reader, :], reader + 1
        else:
            stop = start + seen.words
            numbers = kept[..., keeper] if seen.kept else None
            states = state_of(memory[..., start:stop], numbers, flagged=seen.flagged)
            start, keeper = stop, keeper + seen.kept
        if seen.column == NO_COLUMN:
            continue
        drawn = _drawn(states) if seen.words else _drawn_elsewhere(states)
        if drawn.any():
            for part in [*_parts(drawn[:, :-1], rows), drawn[:, -1:]]:
                column = digests[..., seen.column]
                column[...] = fold_draws(column, part)


def _numbers(look: Looks, keepers: int) -> list[float]:
    return [number or 0.0 for number in look.kept] or [0.0] * (look.number * keepers)


def _drawn(states: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Digest the draws between looks, from states of shape (batches, looks, 4)."""
    block = states[..., _OF_BLOCK]
    return _between(states, block[:, :-1] == block[:, 1:])


def _drawn_elsewhere(states: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Digest those of a generator that is no Mersenne Twister."""
    digests = states.copy()
    digests[..., [PLACE, INCREMENT]] = 0
    return _between(digests, follow(states[:, :-1], states[:, 1:]))


def _between(states: NDArray[np.uint64], follows: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Digest the draws between states: where one does not follow from that before, of it alone."""
    digests = states @ _FACTORS
    before, after = digests[:, :-1], digests[:, 1:]
    drawn = np.where(follows, before * ODD + after, after)
    return np.where(before == after, np.uint64(0), drawn)


def _parts(drawn: NDArray[np.uint64], rows: int) -> Sequence[NDArray[np.uint64]]:
    """Give what samples drew, in turn: parts of shape (batches, rows)."""
    if drawn.shape[1] >= rows:
        return list(np.moveaxis(drawn.reshape(len(drawn), -1, max(rows, 1)), 1, 0))
    return [np.where(drawn == 0, drawn, fold_draws(drawn, np.arange(rows, dtype=np.uint64)))]
