"""What can be told of an element that a loader delivered: its IDs and its content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from detloader.adapters.digests import digest_column, digest_ids
from detloader.adapters.ids import MIXED, as_id, as_ids, find_id, samples_in
from detloader.adapters.on_host import on_host
from detloader.adapters.request import IdSource
from detloader.adapters.tables import rows_of_table
from detloader.errors import UsageError
from detloader.findings import RecordId
from detloader.manifest.content import UndigestibleError
from detloader.manifest.rounding import Digester

__all__ = ["Delivered", "ElementReader"]


@dataclass(frozen=True, slots=True)
class Delivered:
    """One element that the loop was given.

    Attributes:
        content: uint64, shape (rows,): digests; None where samples have no bytes of their own.
        batch: label of the batch, None where an element is one record.
        unseen: why samples have no digests; None where they have, or were not to have any.
    """

    ids: Sequence[RecordId]
    content: NDArray[np.uint64] | None
    epoch: int
    batch: int | None
    unseen: str | None = None

    @property
    def rows(self) -> int:
        """Number of records."""
        return len(self.ids)


class ElementReader:
    """Takes IDs and content from elements, and makes rows of them.

    The first element decides the type of the IDs, and whether there is content: what
    the columns are must not depend on when the rows are written.

    Attributes:
        batched: whether an element is a batch; settled before the first one is read.
    """

    def __init__(
        self,
        ids: IdSource | None,
        *,
        batched: bool,
        content: bool,
        digester: Digester | None = None,
    ) -> None:
        """Say how IDs are found, what an element is, whether content is kept, and how digested."""
        self._ids = ids
        self.batched = batched
        self._keep_content = content
        self._digester = digester or Digester()
        self._id_type: type[RecordId] | None = None
        self._unseen: str | None = None

    def read(
        self,
        element: Any,
        epoch: int,
        number: int,
        known: Sequence[RecordId] | None = None,
        samples: Sequence[Any] | None = None,
        *,
        content_of: Any = None,
    ) -> Delivered:
        """Read one element, before the loop can change it.

        Args:
            element: what the loop gets.
            epoch: the epoch that it belongs to.
            number: its place in the epoch; the label of a batch.
            known: the IDs of its records, where the loader tells them by other ways.
            samples: its records, where a batch does not hold them as rows of arrays.
            content_of: what is digested in the element's place, where that is a part of it.

        Raises:
            UsageError: the IDs are none, or of another type than those before.
            UndigestibleError: there are no IDs, and no content to stand for them.
        """
        wanted = self._keep_content or (self._ids is None and known is None)
        if samples is None and self.batched and wanted:
            samples = samples_in(self._ids, element) or rows_of_table(element)
        digested = element if content_of is None else content_of
        content = self._content(digested, samples, required=known is None) if wanted else None
        try:
            ids = self._ids_of(element, content) if known is None else known
        except UsageError as error:
            message = f"{'batch' if self.batched else 'element'} {number}: {error}"
            raise UsageError(message) from error
        if self.batched and content is not None and len(content) != len(ids):
            message = f"{len(ids)} ids for a batch of {len(content)} rows"
            raise UsageError(message)
        for id_ in ids:
            self._check(id_)
        kept = content if self._keep_content else None
        return Delivered(ids, kept, epoch, number if self.batched else None, self._unseen)

    def encode(self, chunks: Sequence[Delivered]) -> pa.Table:
        """Return one row for each record, in delivery order."""
        counts = [chunk.rows for chunk in chunks]
        ids = [id_ for chunk in chunks for id_ in chunk.ids]
        columns: dict[str, Any] = {
            "record": pa.array(ids, pa.string() if self._id_type is str else pa.int64()),
            "epoch": np.repeat(np.array([chunk.epoch for chunk in chunks], np.int64), counts),
        }
        if self.batched:
            batches = np.array([chunk.batch for chunk in chunks], np.int64)
            columns["batch"] = np.repeat(batches, counts)
        if self._keep_content:
            columns["content"] = digest_column([chunk.content for chunk in chunks], counts)
        return pa.table(columns)

    def _content(
        self, element: Any, samples: Sequence[Any] | None, *, required: bool
    ) -> NDArray[np.uint64] | None:
        try:
            try:
                return self._digests(element, samples)
            except UndigestibleError:
                return self._digests(on_host(element), on_host(samples))
        except UndigestibleError as error:
            if self._ids is None and required:
                raise
            self._unseen = str(error)
            if self._id_type is None:
                self._keep_content = False
            return None

    def _digests(self, element: Any, samples: Sequence[Any] | None) -> NDArray[np.uint64]:
        if samples is not None:
            return self._digester.samples(samples)
        if self.batched:
            return self._digester.batch(element)
        return self._digester.samples([element])

    def _ids_of(self, element: Any, content: NDArray[np.uint64] | None) -> list[RecordId]:
        if self._ids is None:
            return [] if content is None else [*digest_ids(content)]
        if not self.batched:
            return [self._only_id(find_id(self._ids, element))]
        if (samples := samples_in(self._ids, element)) is not None:
            return as_ids([find_id(self._ids, sample) for sample in samples])
        found = find_id(self._ids, element)
        # As an array, a list of mixed types would become one of text.
        values = found if isinstance(found, list | tuple) else np.asarray(on_host(found)).tolist()
        if not isinstance(values, list | tuple):
            message = (
                f"the ids of a batch are a sequence or an array, not {found!r}: say "
                "batched=False if an element is one record"
            )
            raise UsageError(message)
        return as_ids(values)

    def _only_id(self, found: Any) -> RecordId:
        try:
            return as_id(found)
        except UsageError as error:
            if np.ndim(on_host(found)) == 0:
                raise
            message = f"{error}: say batched=True if an element is a batch"
            raise UsageError(message) from error

    def _check(self, id_: RecordId) -> None:
        kind = str if isinstance(id_, str) else int
        if self._id_type is None:
            self._id_type = kind
        if kind is not self._id_type:
            raise UsageError(MIXED)
