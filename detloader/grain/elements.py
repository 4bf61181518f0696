"""Makes one element of a `to_grain` stream, whatever was made before it.

A chain of stock Grain nodes costs several microseconds a record at each node. Here the
indices of an element are computed at once, and one loop reads, draws and transforms.
"""

from __future__ import annotations

import array
import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from detloader.errors import BatchError, SampleError
from detloader.grain.plan import Plan
from detloader.grain.samples import owned, stack
from detloader.grain.source import DataSource, Transform
from detloader.manifest.packed import BatchDigester
from detloader.manifest.rounding import EXACT, Digester
from detloader.randomness import PositionGenerator

__all__ = ["ElementMaker", "Witness", "Witnessing"]

T = TypeVar("T")

_NO_NONE = "return a sample, or leave the record out of the source"


@dataclass(frozen=True)
class Witnessing:
    """What a stream tells of the making of its elements; may be pickled.

    Attributes:
        told: whether it tells anything.
        digester: what digests the content of samples; None where nobody wants it.
    """

    told: bool = True
    digester: Digester | None = None

    OFF: ClassVar[Witnessing]
    DRAWS: ClassVar[Witnessing]
    DRAWS_AND_CONTENT: ClassVar[Witnessing]


Witnessing.OFF = Witnessing(told=False)
Witnessing.DRAWS = Witnessing()
Witnessing.DRAWS_AND_CONTENT = Witnessing(digester=Digester())


class Witness(NamedTuple):
    """What happened while one element was made; it travels from the worker as plain bytes.

    Attributes:
        start: position in the stream of the first record.
        rows: number of records.
        indices: int64, shape (rows,): the source index that each was read at.
        taken: uint32, shape (rows,): 32-bit words that each record's transform drew.
        content: uint64, shape (rows,): digests of the samples; empty where they were not
            asked for, or a sample holds an object without bytes of its own.
    """

    start: int
    rows: int
    indices: bytes
    taken: bytes
    content: bytes


class ElementMaker:
    """Makes elements by their number; it may be pickled, and called by several threads."""

    def __init__(
        self,
        plan: Plan,
        source: DataSource,
        transform: Transform | None,
        witnessing: Witnessing = Witnessing.OFF,
    ) -> None:
        self._plan = plan
        self._source = source
        self._transform = transform
        self._witnessing = witnessing
        self._generators = _Pool(functools.partial(PositionGenerator, plan.seed or 0))
        self._digesters = _Pool(functools.partial(BatchDigester, witnessing.digester or EXACT))

    def __call__(self, number: int) -> Any:
        """Return an element, with a witnessing as a pair with the `Witness` of its making.

        Raises:
            SampleError: the source or the transform failed, or returned None.
            BatchError: the samples do not fit into one batch.
        """
        start, stop = self._plan.span(number)
        order = self._plan.order.indices(start, stop)
        indices = order.tolist()
        samples, taken = self._samples(indices, start)
        element = samples[0] if self._plan.batch_size is None else _batch(samples, indices)
        if not self._witnessing.told:
            return element
        words = array.array("I", taken).tobytes()
        content = self._content(element)
        return element, Witness(start, len(samples), order.tobytes(), words, content)

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
                generator = self._generators.make()
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
        digester = self._witnessing.digester
        if digester is None:
            return b""
        try:
            if self._plan.batch_size is None:
                return digester.samples([element]).tobytes()
            packed = self._digesters.take()
            content = packed(element).tobytes()
            self._digesters.give_back(packed)
        except Exception:  # noqa: BLE001  # recording must not stop what it watches
            return b""
        return content


class _Pool(Generic[T]):
    """Idle helpers; taking and giving back are atomic, so threads may share it."""

    def __init__(self, make: Callable[[], T]) -> None:
        self.make = make
        self._idle: list[T] = []

    def take(self) -> T:
        try:
            return self._idle.pop()
        except IndexError:
            return self.make()

    def give_back(self, helper: T) -> None:
        self._idle.append(helper)

    def __reduce__(self) -> tuple[type[_Pool[T]], tuple[Callable[[], T]]]:
        return type(self), (self.make,)


def _batch(samples: Sequence[Any], indices: Sequence[int]) -> Any:
    try:
        return stack(samples)
    except Exception as error:
        message = f"records {list(indices)} do not fit into one batch: {_describe(error)}"
        raise BatchError(message) from error


def _place(index: int, position: int) -> str:
    return f"record {index} (position {position} of the stream)"


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
