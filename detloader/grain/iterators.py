"""Grain, made fit for long runs: quiet imports, steady errors, arrays of one's own from workers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from absl import flags
from absl import logging as absl_logging

from detloader.errors import UsageError
from detloader.grain.samples import map_arrays

if TYPE_CHECKING:
    import logging
    from types import TracebackType

__all__ = [
    "PassingIterator",
    "SteadyIterator",
    "UnsharingIterator",
    "grain",
    "in_workers",
    "make_flag_readable",
]

_SHARED_BYTES = 1 << 18
"""Arrays from this size on leave a worker through shared memory, smaller ones through a pipe."""

_PROFILING_FLAG = "grain_enable_multiprocess_worker_profiling"


@contextlib.contextmanager
def _without_word_of_jax() -> Iterator[None]:
    """Keep one line off standard error: that Grain's profiler, which nobody asked for, misses jax.

    Grain logs it as a warning whenever it is imported where there is no jax.
    """

    def concerns_us(line: logging.LogRecord) -> bool:
        return "jax profiler" not in line.getMessage()

    logger = absl_logging.get_absl_logger()
    logger.addFilter(concerns_us)
    try:
        yield
    finally:
        logger.removeFilter(concerns_us)


with _without_word_of_jax():
    import grain
    from grain.multiprocessing import SharedMemoryArray


def in_workers(
    dataset: grain.IterDataset[Any], options: grain.MultiprocessingOptions, **further: Any
) -> grain.IterDataset[Any]:
    """Read a dataset in processes; small arrays do not go through shared memory.

    Args:
        dataset: what is read.
        options: how many processes, and how far each is ahead.
        further: what else Grain's `mp_prefetch` takes.
    """
    sharing = grain.experimental.DatasetOptions(min_shm_size=_SHARED_BYTES)
    shared = grain.experimental.WithOptionsIterDataset(dataset, sharing)
    return shared.mp_prefetch(options, **further)


class PassingIterator(grain.DatasetIterator[Any]):
    """An iterator whose states are those of what it reads."""

    def get_state(self) -> Any:
        """Return the state of what is read."""
        return self._parent.get_state()

    def set_state(self, state: Any) -> None:
        """Go to a state of what is read."""
        self._parent.set_state(state)


class UnsharingIterator(PassingIterator):
    """Moves what comes from workers out of shared memory.

    There each array would hold a file open for as long as it lives: a list of a thousand
    batches would be the last, and the one that is alive when the program ends would fail.
    """

    def __next__(self) -> Any:
        return map_arrays(_unshared, next(self._parent))


def _unshared(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.array(array) if isinstance(array, SharedMemoryArray) else array


class SteadyIterator(PassingIterator):
    """Raises an error again on every further `next`, so that no element is skipped."""

    def __init__(self, parent: grain.DatasetIterator[Any]) -> None:
        super().__init__(parent)
        self._failure: Exception | None = None
        self._traceback: TracebackType | None = None
        # Made now: Grain closes what is left when the interpreter ends and names are gone.
        self._closed = UsageError("this iterator was closed: begin another one with iter()")

    def __next__(self) -> Any:
        if self._failure is not None:
            # From its first traceback: each time, raising would add to it.
            raise self._failure.with_traceback(self._traceback)
        try:
            return next(self._parent)
        except StopIteration:
            raise
        except Exception as error:
            self._failure, self._traceback = error, error.__traceback__
            raise

    def set_state(self, state: Any) -> None:
        """Go to a state of what is read; an error before it is forgotten."""
        super().set_state(state)
        self._failure = None

    def close(self) -> None:
        """Release what is read; every further `next` says that."""
        super().close()
        self._failure, self._traceback = self._closed, None


def make_flag_readable() -> None:
    """Let Grain read its own flag when it starts workers, in a thread of its own.

    Where jax is installed, Grain 0.2.18 asks for it, which absl refuses until the program has
    parsed its flags; few programs do. This is what Grain does for its other flags.
    """
    if _PROFILING_FLAG in flags.FLAGS:
        flags.FLAGS[_PROFILING_FLAG].present = True
