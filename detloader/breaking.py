"""Whether a loader broke off: noted where it is asked for its elements."""

from __future__ import annotations

__all__ = ["Breaks"]


class Breaks:
    """Stands around each step of a loader, and notes an error that comes out of it.

    The error passes. That a loader ends, or is left by its loop, is none. One that broke off
    once is not made whole by what it delivers later.

        with breaks:
            element = next(elements)

    Attributes:
        noted: whether the loader broke off.
        asked: whether it was asked for an element; None where nobody sees that.
    """

    def __init__(self) -> None:
        self.noted = False
        self.asked: bool | None = None

    def __enter__(self) -> None:
        """Begin a step."""
        self.asked = True

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Note an error."""
        if kind is not None and not issubclass(kind, (StopIteration, GeneratorExit)):
            self.noted = True
