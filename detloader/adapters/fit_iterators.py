"""What Keras iterates, shown to those who look on.

Keras offers no place to look on, so methods of its iterators are replaced for as long.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, Protocol
from weakref import ReferenceType, ref

from keras.src.trainers.epoch_iterator import EpochIterator

__all__ = ["Onlooker", "look_away", "look_on"]


class Onlooker(Protocol):
    """Looks on while Keras iterates."""

    def note(self, batches: EpochIterator) -> None:
        """Hear of an iterator that was made."""

    def look(self, batches: EpochIterator, data: Any) -> Any:
        """Return what an iterator is to iterate in place of its data."""


# Whoever looked on in a `fit` that raised is forgotten at any moment, in the middle of another.
_onlookers: list[ReferenceType[Onlooker]] = []
_changes = contextlib.ExitStack()


def look_on(onlooker: Onlooker) -> None:
    """Show what is made and iterated from here on, after those who look on already."""
    if not _onlookers:
        _changes.enter_context(_replaced(EpochIterator, "__init__", _noted))
        for kind in _kinds(EpochIterator):
            _changes.enter_context(_replaced(kind, "_get_iterator", _looked_at))
    _onlookers.append(ref(onlooker))


def look_away(onlooker: Onlooker | None) -> None:
    """Show it no longer; nor any that is gone."""
    _onlookers[:] = [found for found in _onlookers if found() not in (None, onlooker)]
    if not _onlookers:
        _changes.close()


def _present() -> Iterator[Onlooker]:
    return filter(None, [found() for found in _onlookers])


def _kinds(kind: Any) -> Iterator[Any]:
    """Yield the classes of iterators that say themselves what is iterated."""
    if "_get_iterator" in vars(kind):
        yield kind
    for derived in kind.__subclasses__():
        yield from _kinds(derived)


@contextlib.contextmanager
def _replaced(kind: Any, name: str, change: Callable[[Any], Any]) -> Iterator[None]:
    original = getattr(kind, name)
    setattr(kind, name, functools.wraps(original)(change(original)))
    try:
        yield
    finally:
        setattr(kind, name, original)


def _noted(init: Any) -> Any:
    def initialise(batches: EpochIterator, *arguments: Any, **options: Any) -> None:
        init(batches, *arguments, **options)
        for onlooker in _present():
            onlooker.note(batches)

    return initialise


def _looked_at(get: Any) -> Any:
    def get_iterator(batches: EpochIterator) -> Any:
        data = get(batches)
        for onlooker in _present():
            data = onlooker.look(batches, data)
        return data

    return get_iterator
