"""What can be told of samples, and of the batch that they are put into."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from detloader.adapters.ids import MIXED, as_ids, find_id, samples_in
from detloader.adapters.torch.tensors import as_arrays, label_of, labels_of
from detloader.errors import UsageError
from detloader.manifest.content import UndigestibleError
from detloader.manifest.packed import BatchDigester
from detloader.manifest.rounding import Digester

__all__ = ["Ids", "SampleReader", "as_indices", "hands_on"]

Ids: TypeAlias = "array[int] | list[str]"


class SampleReader:
    """Reads IDs, content and labels of the records of one batch, as parts of a `Witness`.

    All of it is that of the samples before they are put together: a batch that pads or mixes
    does not change whose content it is. Where Torch itself stacks them, the rows of the batch
    have the same digests as the samples, and are digested instead, ten times as fast.
    """

    def __init__(
        self,
        ids: str | Callable[[Any], Any] | None,
        digester: Digester | None,
        *,
        stacked: bool,
        skips: bool = False,
    ) -> None:
        """Say what to read.

        Args:
            ids: key of a sample that holds its ID, or a function that finds it.
            digester: digests samples; None leaves them, and their labels, alone.
            stacked: whether Torch itself makes the batch of them.
            skips: whether a function of the user's makes it, and may leave out those that are none.
        """
        self._ids = ids
        self._digester = digester
        self._batch_digester = None if digester is None else BatchDigester(digester)
        self._stacked = stacked
        self.skips = skips

    def of_fetched(self, fetched: Any, rows: int) -> dict[str, Any]:
        """Read what a data set gave for so many indices: samples, or a batch made of them.

        Raises:
            UsageError: what should be an ID is none.
        """
        # Torch itself stacks nothing but samples.
        if not self._stacked and _is_batch(fetched, rows):
            return self.of_batch(fetched)
        return {**self.of_samples(fetched), "rows": len(fetched)}

    def of_samples(self, samples: Sequence[Any]) -> dict[str, Any]:
        """Read samples that are not yet put together.

        Raises:
            UsageError: what should be an ID is none.
        """
        parts: dict[str, Any] = {}
        if self._ids is not None:
            parts["ids"] = _as_ids(self._find_ids(samples))
        if self._digester is not None and not self._stacked:
            parts |= _content_of_samples(samples, self._digester)
        return parts

    def _find_ids(self, samples: Sequence[Any]) -> list[Any]:
        assert self._ids is not None  # asked for by those who have them
        if not self.skips:
            return [find_id(self._ids, sample) for sample in samples]
        found = [find_id(self._ids, sample) for sample in samples if sample is not None]
        # Some ID of their kind for samples that are none: of rows that are left out.
        stand_in = found[0] if found else 0
        told = iter(found)
        return [stand_in if sample is None else next(told) for sample in samples]

    def of_stacked(self, batch: Any, rows: int) -> dict[str, Any]:
        """Read what is left from the batch that Torch made of the samples."""
        if self._batch_digester is None or not self._stacked:
            return {}
        parts = _content_of_batch(batch, self._batch_digester)
        if parts.get("rows", rows) == rows:
            return parts
        return {"unseen": f"a batch of {rows} samples has {parts['rows']} rows"}

    def of_batch(self, batch: Any) -> dict[str, Any]:
        """Read a batch that came as one: as `rows`, too, how many it has, where it shows them.

        Raises:
            UsageError: what should be an ID is none, or there are not as many as rows.
        """
        if (samples := samples_in(self._ids, batch)) is not None:
            return {**self.of_samples(samples), "rows": len(samples)}
        digester = self._batch_digester
        parts = {} if digester is None else _content_of_batch(batch, digester)
        if self._ids is None:
            return parts
        found = as_arrays(find_id(self._ids, batch))
        ids = _as_ids(found.tolist() if isinstance(found, np.ndarray) else found)
        if len(ids) != parts.get("rows", len(ids)):
            message = f"{len(ids)} ids for a batch of {parts['rows']} rows"
            raise UsageError(message)
        return {**parts, "ids": ids, "rows": len(ids)}


def hands_on(batch: Any, rows: int) -> bool:
    """Tell whether a collating function left out none of so many samples, as far as it shows."""
    if isinstance(batch, Mapping | list | tuple):
        is_same = len(batch) == rows and any(part is None for part in batch)
        return is_same or _shows_rows(batch, rows)
    return _length(batch) == rows


def _is_batch(fetched: Any, rows: int) -> bool:
    """Tell whether a data set itself put the samples of so many indices together.

    Two arrays may be two samples as well as a batch of two. A list is the former, as Torch
    expects it, and a tuple the latter.
    """
    if isinstance(fetched, list):
        return len(fetched) != rows and _shows_rows(fetched, rows)
    if isinstance(fetched, tuple):
        return len(fetched) != rows or _shows_rows(fetched, rows)
    return isinstance(fetched, Mapping) or _length(fetched) != rows


def _shows_rows(tree: Any, rows: int) -> bool:
    parts = tree.values() if isinstance(tree, Mapping) else tree
    return bool(parts) and all(_is_column(part, rows) for part in parts)


def _is_column(part: Any, rows: int) -> bool:
    if isinstance(part, Mapping | tuple):
        return _shows_rows(part, rows)
    return _length(part) == rows or (isinstance(part, list) and _shows_rows(part, rows))


def _length(value: Any) -> int | None:
    try:
        return len(value)
    except TypeError:
        return None


def _content_of_samples(samples: Sequence[Any], digester: Digester) -> dict[str, Any]:
    try:
        arrays = [as_arrays(sample) for sample in samples]
        digests = digester.samples(arrays)
    except UndigestibleError as error:
        return {"unseen": str(error)}
    labels = [label_of(sample) for sample in arrays if sample is not None]
    if not labels or None in labels:
        return {"content": digests.tobytes()}
    found = iter(labels)
    every = [None if sample is None else next(found) for sample in arrays]
    return {"content": digests.tobytes(), "labels": every}


def _content_of_batch(batch: Any, digester: BatchDigester) -> dict[str, Any]:
    try:
        arrays = as_arrays(batch)
        digests = digester(arrays)
    except UndigestibleError as error:
        return {"unseen": str(error)}
    rows = len(digests)
    return {"rows": rows, "content": digests.tobytes(), "labels": labels_of(arrays, rows)}


def as_indices(indices: Sequence[Any]) -> Ids:
    """Return what a sampler gave, as IDs: whole numbers, or else text."""
    try:
        return array("q", indices)
    except (TypeError, OverflowError):
        return [index if isinstance(index, str) else str(index) for index in indices]


def _as_ids(found: Iterable[Any]) -> Ids:
    values = list(found)
    try:
        return array("q", values)
    except (TypeError, OverflowError):
        ids = as_ids(values)
    texts = [id_ for id_ in ids if isinstance(id_, str)]
    if len(texts) < len(ids):
        raise UsageError(MIXED)
    return texts
