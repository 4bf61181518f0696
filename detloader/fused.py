"""The Grain nodes behind `to_grain`: one that makes whole elements, and its iterators.

A chain of stock nodes costs several microseconds a record at each node. Here one node
computes the indices of an element, reads, draws, transforms and stacks.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, NamedTuple, overload

import grain
import numpy as np
from absl import flags

from detloader.errors import BatchError, SampleError
from detloader.grain import DataSource, Transform
from detloader.manifest.content import UndigestibleError, batch_digests, sample_digest
from detloader.plan import Plan
from detloader.randomness import PositionGenerator
from detloader.samples import owned, stack

__all__ = ["BatchStream", "ElementSource", "Witness", "Witnessing"]

_NO_NONE = "return a sample, or leave the record out of the source"


class Witnessing(Enum):
    """What a stream tells of the making of its elements."""

    OFF = 0
    DRAWS = 1
    DRAWS_AND_CONTENT = 2


class Witness(NamedTuple):
    """What happened while one element was made; it travels from the worker as plain bytes.

    Attributes:
        start: position in the stream of the first record.
        rows: number of records.
        taken: uint32, shape (rows,): 32-bit words that each record's transform drew.
        content: uint64, shape (rows,): digests of the samples; empty where they were not
            asked for, or a sample holds an object without bytes of its own.
    """

    start: int
    rows: int
    taken: bytes
    content: bytes


class ElementSource(grain.MapDataset[Any]):
    """Random access to the elements of a stream.

    With a witnessing, each element comes as a pair with the `Witness` of its making.
    """

    def __init__(
        self,
        plan: Plan,
        source: DataSource,
        transform: Transform | None,
        witnessing: Witnessing = Witnessing.OFF,
    ) -> None:
        super().__init__()
        self._plan = plan
        self._source = source
        self._transform = transform
        self._witnessing = witnessing
        self._generators = _Generators(plan.seed or 0)

    def __len__(self) -> int:
        """Return the number of elements, `sys.maxsize` for an endless stream."""
        return self._plan.elements

    @overload
    def __getitem__(self, index: slice) -> grain.MapDataset[Any]: ...
    @overload
    def __getitem__(self, index: int) -> Any: ...
    def __getitem__(self, index: int | slice) -> Any:
        """Make one element, whatever was made before it."""
        if isinstance(index, slice):
            return self.slice(index)
        start, stop = self._plan.span(index)
        indices = self._plan.order.indices(start, stop).tolist()
        samples, taken = self._samples(indices, start)
        element = samples[0] if self._plan.batch_size is None else _batch(samples, indices)
        if self._witnessing is Witnessing.OFF:
            return element
        words = np.array(taken, np.uint32).tobytes()
        return element, Witness(start, len(samples), words, self._content(element))

    def _samples(self, indices: Sequence[int], start: int) -> tuple[list[Any], list[int]]:
        if self._transform is None:
            records = (self._read(index, start + at) for at, index in enumerate(indices))
            return [owned(record) for record in records], [0] * len(indices)
        return self._transformed(indices, start, self._transform)

    def _transformed(
        self, indices: Sequence[int], start: int, transform: Transform
    ) -> tuple[list[Any], list[int]]:
        samples: list[Any] = []
        taken: list[int] = []
        generator = self._generators.take()
        rng, bits = generator.generator, generator.bit_generator
        idle = sys.getrefcount(rng), sys.getrefcount(bits)
        for position, index in enumerate(indices, start):
            record = owned(self._read(index, position))
            generator.reset(position)
            try:
                sample = transform(record, rng)
            except Exception as error:
                message = f"the transform failed on {_place(index, position)}: {_describe(error)}"
                raise SampleError(message, index, position) from error
            if sample is None:
                message = f"the transform returned None for {_place(index, position)}: {_NO_NONE}"
                raise SampleError(message, index, position)
            samples.append(sample)
            taken.append(generator.taken())
            if (sys.getrefcount(rng), sys.getrefcount(bits)) > idle:
                # Somebody kept the generator; it must not move under them.
                generator = self._generators.fresh()
                rng, bits = generator.generator, generator.bit_generator
                idle = sys.getrefcount(rng), sys.getrefcount(bits)
        self._generators.give_back(generator)
        return samples, taken

    def _read(self, index: int, position: int) -> Any:
        try:
            record = self._source[index]
        except Exception as error:
            message = f"the source failed on {_place(index, position)}: {_describe(error)}"
            raise SampleError(message, index, position) from error
        if record is None:
            message = f"the source returned None for {_place(index, position)}: {_NO_NONE}"
            raise SampleError(message, index, position)
        return record

    def _content(self, element: Any) -> bytes:
        if self._witnessing is Witnessing.DRAWS:
            return b""
        try:
            if self._plan.batch_size is None:
                return np.uint64(sample_digest(element)).tobytes()
            return batch_digests(element).tobytes()
        except UndigestibleError:
            return b""


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
        elements = ElementSource(plan, source, transform, witnessing)
        super().__init__(_in_workers(elements, plan) if plan.workers else elements)
        # Grain 0.2.18 wraps the `__next__` of an outermost iterator's class once more at
        # each `iter()`, until a long training runs out of stack; inner ones it leaves alone.
        self.has_child = True
        self.plan = plan
        self._source = source
        self._transform = transform

    def witnessed(self, witnessing: Witnessing) -> BatchStream:
        """Return the same stream with each element paired with its `Witness`."""
        return BatchStream(self.plan, self._source, self._transform, witnessing)

    def __iter__(self) -> grain.DatasetIterator[Any]:
        """Begin at the first element."""
        if isinstance(self._parent, ElementSource):
            return _Steady(_Elements(self._parent))
        with _flags_parsed():
            return _Steady(self._parent.__iter__())

    def __str__(self) -> str:
        return f"to_grain({self.plan})"


def _in_workers(elements: ElementSource, plan: Plan) -> grain.IterDataset[Any]:
    # Without threads of its own a worker reads no further than its queue is long.
    read_options = grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)
    return elements.to_iter_dataset(read_options).mp_prefetch(
        grain.MultiprocessingOptions(
            num_workers=plan.workers, per_worker_buffer_size=plan.worker_buffer_size
        )
    )


class _Elements(grain.DatasetIterator[Any]):
    """Makes each element when it is asked for, in the calling thread."""

    def __init__(self, elements: ElementSource) -> None:
        super().__init__()
        self._elements = elements
        self._next = 0

    def __next__(self) -> Any:
        if self._next >= len(self._elements):
            raise StopIteration
        element = self._elements[self._next]
        self._next += 1
        return element

    def get_state(self) -> dict[str, Any]:
        return {"next_index": self._next}

    def set_state(self, state: dict[str, Any]) -> None:
        index = state["next_index"]
        if not 0 <= index <= len(self._elements):
            message = f"the state's next_index {index} is not in 0..{len(self._elements)}"
            raise IndexError(message)
        self._next = index


class _Steady(grain.DatasetIterator[Any]):
    """Raises an error again on every further `next`, so that no element is skipped."""

    def __init__(self, parent: grain.DatasetIterator[Any]) -> None:
        super().__init__(parent)
        self._failure: Exception | None = None

    def __next__(self) -> Any:
        if self._failure is not None:
            raise self._failure
        try:
            return next(self._parent)
        except StopIteration:
            raise
        except Exception as error:
            self._failure = error
            raise

    def get_state(self) -> dict[str, Any]:
        return self._parent.get_state()

    def set_state(self, state: dict[str, Any]) -> None:
        self._failure = None
        self._parent.set_state(state)


class _Generators:
    """Idle generators of one seed; taking and giving back are atomic, so threads may share it."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._idle: list[PositionGenerator] = []

    def take(self) -> PositionGenerator:
        try:
            return self._idle.pop()
        except IndexError:
            return self.fresh()

    def fresh(self) -> PositionGenerator:
        return PositionGenerator(self._seed)

    def give_back(self, generator: PositionGenerator) -> None:
        self._idle.append(generator)

    def __reduce__(self) -> tuple[type[_Generators], tuple[int]]:
        return type(self), (self._seed,)


def _batch(samples: Sequence[Any], indices: Sequence[int]) -> Any:
    try:
        return stack(samples)
    except ValueError as error:
        message = f"records {list(indices)} do not fit into one batch: {_describe(error)}"
        raise BatchError(message) from error


def _place(index: int, position: int) -> str:
    return f"record {index} (position {position} of the stream)"


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


@contextlib.contextmanager
def _flags_parsed() -> Iterator[None]:
    """Let Grain read its own flags while it starts workers.

    With jax installed, Grain 0.2.18 asks absl for a flag that no program has parsed.
    """
    parsed: bool = flags.FLAGS.is_parsed()
    if not parsed:
        flags.FLAGS.mark_as_parsed()
    try:
        yield
    finally:
        if not parsed:
            flags.FLAGS.unparse_flags()
