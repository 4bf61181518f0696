"""Whether a loader broke off: noted where it is asked for its elements."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from weakref import WeakKeyDictionary

__all__ = ["Breaks", "breaking_off", "breaks_off", "note_beginning"]


class Breaks:
    """Stands around each step of a loader, and notes an error that comes out of it.

    The error passes. That a loader ends, or is left by its loop, is none. One that broke off
    once is not made whole by what it delivers later.

        with breaks:
            element = next(elements)

    Attributes:
        noted: whether the loader broke off.
        midway: whether the last step gave an element, and so was not the end.
        asked: whether it was asked for an element; None where nobody sees that.
    """

    def __init__(self, *, asked: bool | None = None) -> None:
        self.noted = False
        self.midway = False
        self.asked = asked

    def __enter__(self) -> None:
        """Begin a step."""
        self.asked = True

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Note an error."""
        self.midway = kind is None
        if kind is not None and not issubclass(kind, (StopIteration, GeneratorExit)):
            self.noted = True

    @contextlib.contextmanager
    def noting(self, *ends: type[Exception]) -> Iterator[None]:
        """Note an error, where what stands within is no step of a loop in Python.

        Args:
            ends: what is raised at the end of a loader, and is no error.
        """
        try:
            yield
        except ends:
            self.midway = False
            raise
        except BaseException:
            self.noted = True
            raise
        self.midway = True


def breaks_off(kind: type[BaseException] | None) -> bool:
    """Tell whether what leaves a block breaks off what is recorded in it.

    A generator that is closed, and a program that ends with a status, are no errors.
    """
    return kind is not None and not issubclass(kind, (GeneratorExit, SystemExit))


_moments = itertools.count()
_begun: WeakKeyDictionary[Breaks, int] = WeakKeyDictionary()


def note_beginning(breaks: Breaks) -> None:
    """Note that a loader begins an iteration, in whatever thread."""
    _begun[breaks] = next(_moments)


@contextlib.contextmanager
def breaking_off(end: type[Exception]) -> Iterator[None]:
    """Stand around a call within which a framework iterates by itself.

    No step is seen from Python there. But the iterations that began within the call end with
    it: if an error comes out, their loaders broke off.

    Args:
        end: what is raised at the end of a loader, and is no error.
    """
    since = next(_moments)
    try:
        yield
    except end:
        raise
    except BaseException:
        for breaks, moment in [*_begun.items()]:
            breaks.noted |= moment > since
        raise
