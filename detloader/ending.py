"""How a program ends, and that its status stays its own."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

__all__ = ["ends_by_error", "keeping_status"]


def ends_by_error() -> bool:
    """Tell whether an error that nobody caught, such as that of Ctrl-C, ends the program."""
    # At a prompt the last error is that of some line before.
    return hasattr(sys, "last_value") and not hasattr(sys, "ps1")


@contextlib.contextmanager
def keeping_status() -> Iterator[None]:
    """Stand around work at the end of a program, which leaves the program's status as it is.

    A program that an interrupt ends dies of that signal, as its parent can see. Python's note of
    it goes when any source is executed, and the import of a data class does that.
    """
    try:
        yield
    finally:
        if ends_by_error() and isinstance(sys.last_value, KeyboardInterrupt):
            with contextlib.suppress(KeyboardInterrupt):
                exec("raise KeyboardInterrupt")  # noqa: S102 - this is how the note is made
