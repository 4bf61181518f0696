"""What is recorded of an element of a TensorFlow dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from detloader.adapters.digests import digest_column
from detloader.adapters.elements import Delivered, ElementReader
from detloader.adapters.tensorflow.iterations import Iteration
from detloader.adapters.tensorflow.restored import Restorer
from detloader.manifest.content import UndigestibleError
from detloader.manifest.rounding import Digester
from detloader.tensorflow.attribution import MARK, Attribution

__all__ = ["MarkReader", "PlainReader", "Reader"]


class Reader(Protocol):
    """Reads elements, told as the arrays that they consist of.

    Attributes:
        marked: whether the mark comes first, before the element's own arrays.
        needs_elements: whether the element's own arrays are asked for.
    """

    marked: bool
    needs_elements: bool

    def begin(self) -> Any:
        """Return what is to be known of the moment at which an iteration begins."""

    def read(self, arrays: Sequence[Any], iteration: Iteration) -> tuple[Any, int]:
        """Return what was delivered, and the last epoch that it belongs to."""


class PlainReader:
    """Reads elements of a dataset that knows no IDs."""

    marked = False
    needs_elements = True

    def __init__(self, elements: ElementReader, spec: Any, *, batched: bool) -> None:
        self._elements = elements
        self._restorer = Restorer(spec, batched=batched)
        self.encode = elements.encode

    def begin(self) -> None:
        """Return nothing: an iteration is an epoch."""

    def read(self, arrays: Sequence[Any], iteration: Iteration) -> tuple[Delivered, int]:
        """Read one element."""
        epoch = iteration.first_epoch
        element, samples = self._restorer.element(arrays), self._restorer.samples(arrays)
        return self._elements.read(element, epoch, iteration.number, samples=samples), epoch


class _Marked(NamedTuple):
    """One element, and whose it is.

    Attributes:
        marks: int64, shape (rows, 2).
        epochs: int64, shape (rows,).
        content: uint64, shape (rows,); None where it has no bytes of its own.
        number: of the element in its iteration.
    """

    rows: int
    marks: NDArray[np.int64]
    epochs: NDArray[np.int64]
    content: NDArray[np.uint64] | None
    number: int


class MarkReader:
    """Reads elements that come with marks."""

    marked = True

    def __init__(
        self, attribution: Attribution, spec: Any, *, batched: bool, digester: Digester | None
    ) -> None:
        self._attribution = attribution
        self._restorer = Restorer(spec, batched=batched)
        self._batched = batched
        self._digester = digester
        self.needs_elements = self.keeps_content = digester is not None
        self._is_first = True
        self.begin = attribution.begin

    def read(self, arrays: Sequence[Any], iteration: Iteration) -> tuple[_Marked, int]:
        """Read one element."""
        marks = np.array(arrays[0]).reshape(-1, MARK)
        epochs = iteration.first_epoch + self._attribution.epochs(marks, iteration.since)
        self._require_rows(arrays[1:], len(marks))
        content = None
        if self._digester is not None:
            content = self._content(self._digester, arrays[1:], len(marks))
        if content is None and self._is_first:
            # As for any loader: the first element decides whether there is content to compare.
            self._digester, self.keeps_content = None, False
        self._is_first = False
        chunk = _Marked(len(marks), marks, epochs, content, iteration.number)
        return chunk, int(epochs.max(initial=iteration.first_epoch))

    def encode(self, chunks: Sequence[_Marked]) -> pa.Table:
        """Return one row for each record, in delivery order."""
        counts = [chunk.rows for chunk in chunks]
        told = dict(self._attribution.columns(np.concatenate([chunk.marks for chunk in chunks])))
        columns: dict[str, Any] = {
            "record": told.pop("record"),
            "epoch": np.concatenate([chunk.epochs for chunk in chunks]),
        }
        if self._batched:
            columns["batch"] = np.repeat([chunk.number for chunk in chunks], counts)
        if self.keeps_content:
            columns["content"] = digest_column([chunk.content for chunk in chunks], counts)
        return pa.table(columns | told)

    def _require_rows(self, arrays: Sequence[Any], marks: int) -> None:
        """Refuse a batch whose rows a function changed in number: nobody knows whose they are.

        Raises:
            UndigestibleError: no part of the element has as many rows as there are IDs.
        """
        if not self._batched or not arrays:
            return
        rows = self._restorer.row_counts(arrays)
        if rows and marks not in rows:
            message = (
                f"a batch made of {marks} records has {min(rows)} rows, so their IDs are not "
                "known any more: say with ids= which key of an element, or which function of it, "
                "tells them"
            )
            raise UndigestibleError(message)

    def _content(
        self, digester: Digester, arrays: Sequence[Any], rows: int
    ) -> NDArray[np.uint64] | None:
        try:
            element, samples = self._restorer.element(arrays), self._restorer.samples(arrays)
            if not self._batched:
                return digester.samples([element])
            digests = digester.batch(element) if samples is None else digester.samples(samples)
        except UndigestibleError:
            return None
        return digests if len(digests) == rows else None
