"""What a program iterates beside its training, and what is iterated inside a recorded loader."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

__all__ = ["is_aside", "without_recording"]


class _Thread(threading.local):
    aside = False


_thread = _Thread()


def is_aside() -> bool:
    """Tell whether what this thread makes and iterates now is not to be recorded."""
    return _thread.aside


@contextlib.contextmanager
def without_recording() -> Iterator[None]:
    """Let what is made and iterated in here, such as what a loader reads, go unrecorded."""
    before, _thread.aside = _thread.aside, True
    try:
        yield
    finally:
        _thread.aside = before
