"""Records any iterable: what it yields, in the order in which it yields it.

An element is one record, or a batch where the user says `batched=True`. Without IDs, the
digest of a sample's content is its ID.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self, SupportsIndex

from detloader.adapters.elements import Delivered, ElementReader
from detloader.adapters.epochs import EpochNumbers
from detloader.adapters.ids import ids_of_elements
from detloader.adapters.request import Request
from detloader.breaking import Breaks
from detloader.manifest.schema import Level
from detloader.recorder import Recorder, Sealing

__all__ = [
    "RecordedElements",
    "RecordedIterable",
    "RecordedIterator",
    "Steps",
    "reader_for",
    "suits",
    "wrap",
]


def suits(loader: object) -> bool:
    """Tell whether the object can be iterated."""
    return hasattr(loader, "__iter__") or hasattr(loader, "__getitem__")


def wrap(loader: Iterable[Any], request: Request) -> RecordedIterable:
    """Start recording an iterable."""
    reader = reader_for(loader, request)
    writer = request.writer(loader=type(loader).__qualname__)
    recorder = Recorder(writer, reader.encode)
    if isinstance(loader, Iterator):
        return RecordedIterator(loader, reader, recorder)
    return RecordedIterable(loader, reader, recorder)


def reader_for(loader: object, request: Request) -> ElementReader:
    """Make what reads the elements of a loader that does not say which record it reads.

    Raises:
        UsageError: `ids` are neither a key nor a function: nobody could tell who is who.
    """
    return ElementReader(
        ids_of_elements(request.ids, f"a {type(loader).__name__}"),
        batched=bool(request.batched),
        content=request.level is not Level.ORDER,
        digester=request.digester,
    )


class _Twin:
    """Stands for an object: every attribute, read or set, is that object's own."""

    def __init__(self, original: Any) -> None:
        self._original = original

    def __getattr__(self, name: str) -> Any:
        if name == "_original":
            # Not yet set, as while it is copied: there is nobody to ask.
            raise AttributeError(name)
        return getattr(self._original, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._original, name, value)


class RecordedElements(Sealing):
    """What records the elements of a loader one by one; each iteration is the next epoch."""

    _reader: ElementReader
    _told_epoch: int | None = None

    @functools.cached_property
    def _epochs(self) -> EpochNumbers:
        return EpochNumbers()

    def _steps(self, elements: Iterator[Any]) -> Steps:
        return Steps(elements, self._recorder.breaks, self._record, self._begin_epoch)

    def _begin_epoch(self) -> int:
        return self._epochs.begin(self._told_epoch)

    def _hear_epoch(self, epoch: object) -> None:
        """Take the number that the loader was told for the next epoch, if it is one."""
        if isinstance(epoch, SupportsIndex):
            self._told_epoch = operator.index(epoch)

    def _record(self, element: Any, epoch: int, number: int) -> None:
        try:
            delivered = self._read(element, epoch, number)
        except Exception as error:  # noqa: BLE001  # whatever it is, the training goes on
            self._recorder.lose(error)
            return
        if delivered.rows:
            self._recorder.put(delivered)

    def _read(self, element: Any, epoch: int, number: int) -> Delivered:
        return self._reader.read(element, epoch, number)


class RecordedIterable(RecordedElements, _Twin):
    """An iterable that records what it yields; every attribute is the iterable's own.

    Each `iter()` is the next epoch, or the one that `set_epoch` named since the last.
    """

    def __init__(
        self, loader: Iterable[Any], reader: ElementReader, recorder: Recorder[Delivered]
    ) -> None:
        super().__init__(loader)
        self._reader = reader
        self._recorder = recorder

    def __iter__(self) -> Iterator[Any]:
        """Iterate the loader once."""
        with self._recorder.breaks:
            elements = iter(self._original)
        return self._steps(elements)

    def __len__(self) -> int:
        """Return the loader's length, where it has one."""
        return len(self._original)

    def __bool__(self) -> bool:
        """Return what the loader says; one without a length is true."""
        return bool(self._original)

    def __getattr__(self, name: str) -> Any:
        """Pass attributes on; an epoch that is set is remembered."""
        value = super().__getattr__(name)
        if name != "set_epoch":
            return value

        def set_epoch(epoch: int, *arguments: Any, **options: Any) -> Any:
            result = value(epoch, *arguments, **options)
            self._hear_epoch(epoch)
            return result

        return set_epoch


class RecordedIterator(RecordedIterable):
    """An iterator that records what it yields.

    `iter()` of most iterators gives them back as they are: all of it is one epoch. Some start
    anew, as trainers' combined loaders do, and that is the next epoch. One starts anew if it is
    another object, if `iter()` set an attribute of it, or if it had come to its end.
    """

    def __init__(
        self, loader: Iterator[Any], reader: ElementReader, recorder: Recorder[Delivered]
    ) -> None:
        super().__init__(loader, reader, recorder)
        self._one_pass = self._steps(loader)
        self._ended = False

    def __iter__(self) -> Iterator[Any]:
        """Return itself, as iterators do; or else what the iterator returns."""
        before = _attributes(self._original)
        with self._recorder.breaks:
            elements = iter(self._original)
        if elements is not self._original:
            return self._steps(elements)
        if self._ended or _attributes(elements) != before:
            self._one_pass = self._steps(elements)
            self._ended = False
        return self

    def __next__(self) -> Any:
        """Return the next element."""
        try:
            return next(self._one_pass)
        except StopIteration:
            self._ended = True
            raise


def _attributes(thing: object) -> dict[str, int]:
    """Tell which object each attribute is; by identity, for comparing is code of the user's."""
    return {name: id(value) for name, value in getattr(thing, "__dict__", {}).items()}


class Steps(_Twin):
    """One iteration of a loader; it goes on after an error wherever the loader's own does."""

    def __init__(
        self,
        iterator: Iterator[Any],
        breaks: Breaks,
        record: Callable[[Any, int, int], None],
        begin_epoch: Callable[[], int],
    ) -> None:
        super().__init__(iterator)
        self._breaks = breaks
        self._record = record
        self._begin_epoch = begin_epoch
        self._epoch = 0
        self._number = 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        with self._breaks:
            element = next(self._original)
        if self._number == 0:
            # Not before the first element: an iterator may be made and never used.
            self._epoch = self._begin_epoch()
        self._record(element, self._epoch, self._number)
        self._number += 1
        return element
