"""The Grain datasets behind `to_grain`, and their iterators."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from absl import flags
from absl import logging as absl_logging

from detloader.elements import ElementMaker, Witnessing
from detloader.errors import UsageError
from detloader.plan import Plan
from detloader.samples import map_arrays
from detloader.source import DataSource, Transform

if TYPE_CHECKING:
    import logging
    from types import TracebackType

__all__ = ["BatchStream"]

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


class _ElementSource(grain.MapDataset[Any]):
    """Random access to the elements of a stream."""

    def __init__(self, plan: Plan, make: ElementMaker) -> None:
        super().__init__()
        self._plan = plan
        self.make = make

    def __len__(self) -> int:
        """Return the number of elements, `sys.maxsize` for an endless stream."""
        return self._plan.elements

    @overload
    def __getitem__(self, index: slice) -> grain.MapDataset[Any]: ...
    @overload
    def __getitem__(self, index: int) -> Any: ...
    def __getitem__(self, index: int | slice) -> Any:
        """Make one element."""
        if isinstance(index, slice):
            return self.slice(index)
        return self.make(index)


class BatchStream(grain.IterDataset[Any]):
    """What `to_grain` returns: a Grain dataset to iterate, again and again.

    Attributes:
        plan: order and draws as a pure function of the arguments.
    """

    def __init__(
        self,
        plan: Plan,
        source: DataSource,
        transform: Transform | None,
        witnessing: Witnessing = Witnessing.OFF,
    ) -> None:
        elements = _ElementSource(plan, ElementMaker(plan, source, transform, witnessing))
        super().__init__(_in_workers(elements, plan) if plan.workers else elements)
        # As of an inner node: of an outermost one Grain replaces the iterator's `__next__`, to
        # cut its own frames out of tracebacks and to say so in a note to each error.
        self.has_child = True
        self.plan = plan
        self._source = source
        self._transform = transform

    def witnessed(self, witnessing: Witnessing) -> BatchStream:
        """Return the same stream with each element paired with its `Witness`."""
        return BatchStream(self.plan, self._source, self._transform, witnessing)

    def __iter__(self) -> grain.DatasetIterator[Any]:
        """Begin at the first element."""
        if isinstance(self._parent, _ElementSource):
            return _Steady(_Elements(self._parent.make, self.plan.elements))
        _make_flag_readable()
        return _Steady(_Unshared(self._parent.__iter__()))

    def __str__(self) -> str:
        return f"to_grain({self.plan})"


def _in_workers(elements: _ElementSource, plan: Plan) -> grain.IterDataset[Any]:
    # Without threads of its own a worker reads no further than its queue is long.
    read_options = grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)
    options = grain.experimental.DatasetOptions(min_shm_size=_SHARED_BYTES)
    one_by_one = elements.to_iter_dataset(read_options)
    return grain.experimental.WithOptionsIterDataset(one_by_one, options).mp_prefetch(
        grain.MultiprocessingOptions(
            num_workers=plan.workers, per_worker_buffer_size=plan.worker_buffer_size
        )
    )


class _Elements(grain.DatasetIterator[Any]):
    """Makes each element when it is asked for, in the calling thread."""

    def __init__(self, make: ElementMaker, elements: int) -> None:
        super().__init__()
        self._make = make
        self._stop = elements
        self._next = 0

    def __next__(self) -> Any:
        if self._next >= self._stop:
            raise StopIteration
        element = self._make(self._next)
        self._next += 1
        return element

    def get_state(self) -> dict[str, Any]:
        return {"next_index": self._next}

    def set_state(self, state: dict[str, Any]) -> None:
        index = state["next_index"]
        if not 0 <= index <= self._stop:
            message = f"the state's next_index {index} is not in 0..{self._stop}"
            raise IndexError(message)
        self._next = index


class _Unshared(grain.DatasetIterator[Any]):
    """Moves what comes from workers out of shared memory.

    There each array would hold a file open for as long as it lives: a list of a thousand
    batches would be the last, and the one that is alive when the program ends would fail.
    """

    def __next__(self) -> Any:
        return map_arrays(_unshared, next(self._parent))

    def get_state(self) -> dict[str, Any]:
        return self._parent.get_state()

    def set_state(self, state: dict[str, Any]) -> None:
        self._parent.set_state(state)


def _unshared(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.array(array) if isinstance(array, SharedMemoryArray) else array


class _Steady(grain.DatasetIterator[Any]):
    """Raises an error again on every further `next`, so that no element is skipped."""

    def __init__(self, parent: grain.DatasetIterator[Any]) -> None:
        super().__init__(parent)
        self._failure: Exception | None = None
        self._traceback: TracebackType | None = None

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

    def get_state(self) -> dict[str, Any]:
        return self._parent.get_state()

    def set_state(self, state: dict[str, Any]) -> None:
        self._parent.set_state(state)
        self._failure = None

    def close(self) -> None:
        super().close()
        self._failure = UsageError("this iterator was closed: begin another one with iter()")
        self._traceback = None


def _make_flag_readable() -> None:
    """Let Grain read its own flag when it starts workers, in a thread of its own.

    Where jax is installed, Grain 0.2.18 asks for it, which absl refuses until the program has
    parsed its flags; few programs do. This is what Grain does for its other flags.
    """
    if _PROFILING_FLAG in flags.FLAGS:
        flags.FLAGS[_PROFILING_FLAG].present = True
