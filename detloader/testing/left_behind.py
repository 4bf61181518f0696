"""Processes that a loader leaves behind: they are ended, and a warning says so.

Those of `multiprocessing` alone: it tells its workers from its own servants, which must stay.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import time
import warnings
from collections.abc import Iterator

__all__ = ["LeftBehindWarning", "nothing_left_behind"]

_PATIENCE_SECONDS = 5.0


class LeftBehindWarning(UserWarning):
    """A loader did not end its workers; shown by default, as a ResourceWarning is not."""


@contextlib.contextmanager
def nothing_left_behind(name: str) -> Iterator[None]:
    """End the worker processes that came and did not go.

    A loader that failed is still held by its traceback, and so are its workers.

    Args:
        name: what to call the loader.
    """
    before = set(multiprocessing.active_children())
    yield
    left = [child for child in multiprocessing.active_children() if child not in before]
    if not left:
        return
    # Iterators in cycles hold their workers until they are collected.
    gc.collect()
    deadline = time.monotonic() + _PATIENCE_SECONDS
    for child in left:
        child.join(max(deadline - time.monotonic(), 0))
    stayed = [child for child in left if child.is_alive()]
    for child in stayed:
        child.kill()
        child.join()
    if stayed:
        were = "a worker process" if len(stayed) == 1 else f"{len(stayed)} worker processes"
        warnings.warn(
            f"{name} left {were} behind, which had to be killed: let the end of its "
            "iteration, or of the iterator, end them",
            LeftBehindWarning,
            stacklevel=4,
        )
