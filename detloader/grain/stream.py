"""The Grain datasets behind `to_grain`, and their iterators."""

from __future__ import annotations

from typing import Any, overload

from detloader.grain.alone import Alone, make_alone
from detloader.grain.elements import ElementMaker, Witnessing
from detloader.grain.iterators import (
    SteadyIterator,
    UnsharingIterator,
    grain,
    in_workers,
    make_flag_readable,
)
from detloader.grain.plan import Plan
from detloader.grain.source import DataSource, Transform
from detloader.manifest.rounding import EXACT, Digester

__all__ = ["BatchStream"]


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

    def maker(self, witnessing: Witnessing = Witnessing.OFF) -> ElementMaker:
        """Return what makes any element of the stream alone, by its number."""
        return ElementMaker(self.plan, self._source, self._transform, witnessing)

    def alone(self, position: int, digester: Digester = EXACT) -> Alone:
        """Make the record of one position again, and say what its transform draws."""
        return make_alone(self.plan, self._source, self._transform, position, digester)

    def __iter__(self) -> grain.DatasetIterator[Any]:
        """Begin at the first element."""
        if isinstance(self._parent, _ElementSource):
            return SteadyIterator(_Elements(self._parent.make, self.plan.elements))
        make_flag_readable()
        return SteadyIterator(UnsharingIterator(self._parent.__iter__()))

    def __str__(self) -> str:
        return f"to_grain({self.plan})"


def _in_workers(elements: _ElementSource, plan: Plan) -> grain.IterDataset[Any]:
    # Without threads of its own a worker reads no further than its queue is long.
    one_by_one = elements.to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0))
    options = grain.MultiprocessingOptions(
        num_workers=plan.workers, per_worker_buffer_size=plan.worker_buffer_size
    )
    return in_workers(one_by_one, options)


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
