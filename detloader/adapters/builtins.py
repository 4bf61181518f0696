"""Records any iterable: what it yields, in the order in which it yields it.

An element is one record, or a batch where the user says `batched=True`. Without IDs, the
digest of a sample's content is its ID.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from detloader.adapters.request import IdSource, Request
from detloader.errors import UsageError
from detloader.findings import RecordId
from detloader.manifest.content import UndigestibleError, batch_digests, sample_digest
from detloader.manifest.schema import Level
from detloader.recorder import Recorder

__all__ = ["RecordedIterable", "suits", "wrap"]


def suits(loader: object) -> bool:
    """Tell whether the object can be iterated."""
    return hasattr(loader, "__iter__")


def wrap(loader: Iterable[Any], request: Request) -> RecordedIterable:
    """Start recording an iterable."""
    ids = request.ids
    if ids is not None and not isinstance(ids, str) and not callable(ids):
        message = (
            f"a {type(loader).__name__} does not say which record it reads: "
            "give ids as a key of its elements, or as a function of one"
        )
        raise UsageError(message)
    reader = _Reader(ids, batched=bool(request.batched), content=request.level is not Level.ORDER)
    writer = request.writer(loader=type(loader).__qualname__)
    return RecordedIterable(loader, reader, Recorder(writer, _encode))


@dataclass(frozen=True, slots=True)
class _Delivered:
    """One element that the loop was given."""

    ids: Sequence[RecordId]
    content: NDArray[np.uint64] | None
    epoch: int
    batch: int | None

    @property
    def rows(self) -> int:
        return len(self.ids)


class RecordedIterable:
    """An iterable that records what it yields; every attribute is the iterable's own.

    Each `iter()` is the next epoch, or the one that `set_epoch` named.
    """

    def __init__(
        self, loader: Iterable[Any], reader: _Reader, recorder: Recorder[_Delivered]
    ) -> None:
        self._loader = loader
        self._reader = reader
        self._recorder = recorder
        self._next_epoch = 0

    def __iter__(self) -> Iterator[Any]:
        """Iterate the loader once."""
        epoch = self._next_epoch
        self._next_epoch = epoch + 1
        for number, element in enumerate(self._loader):
            self._record(element, epoch, number)
            yield element

    def __len__(self) -> int:
        """Return the loader's length, where it has one."""
        return len(cast("Sequence[Any]", self._loader))

    def __getattr__(self, name: str) -> Any:
        """Pass attributes on; an epoch that is set is remembered."""
        value = getattr(self._loader, name)
        if name != "set_epoch":
            return value

        def set_epoch(epoch: int) -> None:
            value(epoch)
            self._next_epoch = epoch

        return set_epoch

    def _record(self, element: Any, epoch: int, number: int) -> None:
        try:
            self._recorder.put(self._reader.read(element, epoch, number))
        except Exception as error:  # noqa: BLE001  # whatever it is, the training goes on
            self._recorder.lose(error)

    def close(self) -> None:
        """Seal the run."""
        self._recorder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Reader:
    """Takes IDs and content from one element."""

    def __init__(self, ids: IdSource | None, *, batched: bool, content: bool) -> None:
        self._ids = ids
        self._batched = batched
        self._keep_content = content

    def read(self, element: Any, epoch: int, number: int) -> _Delivered:
        content = self._content(element) if self._keep_content or self._ids is None else None
        ids = self._ids_of(element, content)
        if self._batched and content is not None and len(content) != len(ids):
            message = f"{len(ids)} ids for a batch of {len(content)} rows"
            raise UsageError(message)
        kept = content if self._keep_content else None
        return _Delivered(ids, kept, epoch, number if self._batched else None)

    def _content(self, element: Any) -> NDArray[np.uint64] | None:
        try:
            if self._batched:
                return batch_digests(element)
            return np.array([sample_digest(element)], np.uint64)
        except UndigestibleError:
            if self._ids is None:
                raise
            return None

    def _ids_of(self, element: Any, content: NDArray[np.uint64] | None) -> list[RecordId]:
        if self._ids is None:
            return [] if content is None else [f"{digest:016x}" for digest in content.tolist()]
        if callable(self._ids):
            found: Any = self._ids(element)
        else:
            found = cast("Mapping[Any, Any]", element)[self._ids]
        values = np.asarray(found).tolist()
        return [_as_id(value) for value in (values if self._batched else [values])]


def _as_id(value: object) -> RecordId:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    message = f"an ID is an integer or a string, not {value!r}"
    raise UsageError(message)


def _encode(chunks: Sequence[_Delivered]) -> pa.Table:
    counts = [chunk.rows for chunk in chunks]
    ids = [id_ for chunk in chunks for id_ in chunk.ids]
    # Which of the two it is, the first ID decides; a mixture is refused by Arrow.
    record = pa.array(ids, pa.int64() if isinstance(ids[0], int) else pa.string())
    columns: dict[str, Any] = {
        "record": record,
        "epoch": np.repeat([chunk.epoch for chunk in chunks], counts),
    }
    if chunks[0].batch is not None:
        columns["batch"] = np.repeat([chunk.batch or 0 for chunk in chunks], counts)
    if any(chunk.content is not None for chunk in chunks):
        columns["content"] = _content_array(chunks, counts)
    return pa.table(columns)


def _content_array(chunks: Sequence[_Delivered], counts: Sequence[int]) -> pa.Array[Any]:
    known = np.repeat([chunk.content is not None for chunk in chunks], counts)
    digests = np.zeros(len(known), np.uint64)
    digests[known] = np.concatenate([c.content for c in chunks if c.content is not None])
    return pa.array(digests, mask=~known)
