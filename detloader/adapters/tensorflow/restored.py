"""Elements of a dataset, and the records in them, of the arrays that TensorFlow tells them as.

A ragged tensor is told as its values and where its rows end, from the outer axis to the inner
one; a sparse one as indices, values and shape. Their rows are those of the outer axis.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from detloader.manifest.content import UndigestibleError

__all__ = ["Restorer", "is_told"]


class Restorer:
    """Makes elements of arrays, and single records of batches that NumPy cannot hold as rows."""

    def __init__(self, spec: Any, *, batched: bool) -> None:
        """Take the specification of an element, and whether that is a batch."""
        self._spec = spec
        self._batched = batched
        self._leaves = [
            (_form(leaf), sum(map(is_told, tf.nest.flatten(leaf, expand_composites=True))))
            for leaf in tf.nest.flatten(spec)
        ]
        self._has_rows = batched and any(form in _ROWS for form, _ in self._leaves)

    def element(self, arrays: Sequence[Any]) -> Any:
        """Return an element; of a batch, what is ragged or sparse is a list of its rows."""
        return self._pack([self._as_leaf(form, parts) for form, parts in self._parts(arrays)])

    def samples(self, arrays: Sequence[Any]) -> Sequence[Any] | None:
        """Return the records of a batch; None where they are rows of the element's arrays."""
        if not self._has_rows and not (self._batched and all(map(_is_empty_text, arrays))):
            return None
        columns = [_rows(form, parts) for form, parts in self._parts(arrays) if parts]
        return _Samples(columns, self._pack_told)

    def row_counts(self, arrays: Sequence[Any]) -> set[int]:
        """Return how many rows the parts of a batch have, those of single values left out."""
        return {
            _row_count(form, parts)
            for form, parts in self._parts(arrays)
            if parts and (form in _ROWS or np.ndim(parts[0]))
        }

    def _parts(self, arrays: Sequence[Any]) -> Iterator[tuple[str, list[Any]]]:
        given = iter(arrays)
        for form, count in self._leaves:
            yield form, [*itertools.islice(given, count)]

    def _as_leaf(self, form: str, parts: list[Any]) -> Any:
        if self._batched and form in _ROWS:
            return [*_ROWS[form](*parts)]
        if form == _SPARSE:
            parts = parts[:-1]  # how far it reaches depends on what it was batched with
        text = _text_columns if self._batched else _plain
        leaves = [text(part) for part in parts]
        return leaves[0] if len(leaves) == 1 else tuple(leaves)

    def _pack(self, leaves: Sequence[Any]) -> Any:
        return tf.nest.pack_sequence_as(self._spec, leaves)

    def _pack_told(self, told: Sequence[Any]) -> Any:
        rows = iter(told)
        return self._pack([next(rows) if count else () for _, count in self._leaves])


class _Samples(Sequence[Any]):
    """The records of a batch, made when they are asked for.

    Raises:
        UndigestibleError: the parts of the batch have not one number of rows.
    """

    def __init__(self, columns: list[Sequence[Any]], pack: Callable[[Sequence[Any]], Any]) -> None:
        self._columns = columns
        self._pack = pack

    def __len__(self) -> int:
        lengths = {len(column) for column in self._columns}
        if len(lengths) != 1:
            message = f"the parts of a batch have {sorted(lengths)} rows, not one number"
            raise UndigestibleError(message)
        return lengths.pop()

    def __getitem__(self, place: Any) -> Any:
        return self._pack([_plain(column[place]) for column in self._columns])

    def __iter__(self) -> Iterator[Any]:
        return map(self.__getitem__, range(len(self)))


def is_told(part: Any) -> bool:
    """Tell whether a component of an element can be seen from Python."""
    return part is not None and part.dtype not in {tf.variant, tf.resource}


_RAGGED, _SPARSE = "ragged", "sparse"


def _form(leaf: Any) -> str:
    if isinstance(leaf, tf.RaggedTensorSpec) and leaf.ragged_rank:
        return _RAGGED
    return _SPARSE if isinstance(leaf, tf.SparseTensorSpec) else ""


def _ragged_rows(values: NDArray[Any], *splits: NDArray[Any]) -> Iterator[Any]:
    """Yield rows as they are told alone: values, or values and splits that begin at 0."""
    outer, *inner = splits
    for bounds in itertools.pairwise(outer.tolist()):
        start, stop = bounds
        within = []
        for ends in inner:
            piece = ends[start : stop + 1]
            start, stop = int(piece[0]), int(piece[-1])
            within.append(piece - start)
        row = _plain(values[start:stop])
        yield (row, *within) if within else row


def _sparse_rows(
    indices: NDArray[Any], values: NDArray[Any], shape: NDArray[Any]
) -> Iterator[tuple[Any, Any]]:
    order = np.argsort(indices[:, 0], kind="stable")
    indices, values = indices[order], values[order]
    bounds = np.searchsorted(indices[:, 0], np.arange(shape[0] + 1))
    for start, stop in itertools.pairwise(bounds.tolist()):
        yield indices[start:stop, 1:], _plain(values[start:stop])


_ROWS: dict[str, Callable[..., Iterator[Any]]] = {_RAGGED: _ragged_rows, _SPARSE: _sparse_rows}


def _rows(form: str, parts: Sequence[Any]) -> Sequence[Any]:
    if form in _ROWS:
        return [*_ROWS[form](*parts)]
    if len(parts) == 1 and np.ndim(parts[0]):
        return [*parts[0]]
    raise UndigestibleError("a part of a batch has no rows")


def _row_count(form: str, parts: Sequence[Any]) -> int:
    match form:
        case "ragged":
            return len(parts[1]) - 1
        case "sparse":
            return int(parts[2][0])
    return len(parts[0])


def _plain(value: Any) -> Any:
    """Return text as Python's own, for NumPy has it as objects without bytes."""
    return value.tolist() if isinstance(value, np.ndarray) and value.dtype.hasobject else value


def _is_empty_text(array: Any) -> bool:
    """Tell whether this is text of which no column is left that would show the rows."""
    return isinstance(array, np.ndarray) and array.dtype.hasobject and not array.size


def _text_columns(array: Any) -> Any:
    """Return the columns of a batch of text, each a list with one entry for each row."""
    if not isinstance(array, np.ndarray) or not array.dtype.hasobject:
        return array
    if array.ndim <= 1:
        return array.tolist()
    return [_text_columns(array[:, place]) for place in range(array.shape[1])]
