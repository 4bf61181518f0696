"""Elements as the arrays that a TensorFlow specification asks for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from detloader.errors import BatchError, UsageError

__all__ = ["Batch", "Form", "MismatchError", "check_spec"]

Flatten: TypeAlias = Callable[[Any, list[Any]], None]

_LARGEST = 1 << 26
"""Bytes that are set aside for a batch before its samples are there."""


def check_spec(name: str, spec: object) -> None:
    """Refuse what specifies no element.

    Args:
        name: of the argument.
        spec: what it was given.

    Raises:
        UsageError: it has no leaf, or one that is no specification of TensorFlow's.
    """
    leaves = tf.nest.flatten(spec)
    wrong = [leaf for leaf in leaves if not isinstance(leaf, tf.TypeSpec)]
    if wrong or not leaves:
        found = repr(wrong[0]) if wrong else "nothing"
        raise UsageError(
            f"{name} must be a structure of tf.TensorSpec, such as tf.TensorSpec((), tf.float32); "
            f"it holds {found}"
        )


class MismatchError(ValueError):
    """An element is not what the specification says."""


class Form:
    """Converts elements as `from_generator` does, and says where they do not fit.

    Values are cast as NumPy casts them, which is what TensorFlow does with generators'
    elements. The arrays are never the reader's own, so that it may fill one again and again.

    Attributes:
        spec: tuples and mappings whose leaves are all `tf.TensorSpec`.
        leaves: the leaves, in TensorFlow's order.
    """

    def __init__(self, spec: Any) -> None:
        self.spec = spec
        self.leaves: list[Leaf] = []
        self._flatten = self._flattener(spec, "the sample")
        self._plain = type(spec) is tuple and all(type(item) is tf.TensorSpec for item in spec)

    @staticmethod
    def suits(spec: Any) -> bool:
        """Tell whether all leaves are dense tensors, in tuples and mappings."""
        if isinstance(spec, tuple):
            return all(map(Form.suits, spec))
        if isinstance(spec, Mapping):
            return all(map(Form.suits, spec.values()))
        return type(spec) is tf.TensorSpec

    def values(self, element: Any) -> Sequence[Any]:
        """Return an element's leaves as they are.

        Raises:
            MismatchError: its structure is another.
        """
        if self._plain and type(element) is tuple and len(element) == len(self.leaves):
            return element
        found: list[Any] = []
        self._flatten(element, found)
        return found

    def arrays(self, element: Any) -> list[NDArray[Any]]:
        """Return an element's leaves as arrays of the types and shapes asked for.

        Raises:
            MismatchError: it does not fit.
        """
        values = self.values(element)
        return [leaf.convert(value) for leaf, value in zip(self.leaves, values, strict=True)]

    def pack(self, arrays: Sequence[Any]) -> Any:
        """Return leaves in the structure of the specification."""
        return tuple(arrays) if self._plain else tf.nest.pack_sequence_as(self.spec, arrays)

    def batched(self, rows: int | None) -> Any:
        """Return the specification of a batch."""
        return tf.nest.map_structure(
            lambda leaf: tf.TensorSpec(tf.TensorShape([rows]) + leaf.shape, leaf.dtype), self.spec
        )

    def _flattener(self, spec: Any, path: str) -> Flatten:
        if isinstance(spec, Mapping):
            return self._mapping_flattener(spec, path)
        if isinstance(spec, tuple):
            return self._tuple_flattener(spec, path)
        self.leaves.append(Leaf(spec, path))
        return lambda value, found: found.append(value)

    def _tuple_flattener(self, spec: tuple[Any, ...], path: str) -> Flatten:
        items = [self._flattener(item, f"{path}[{place}]") for place, item in enumerate(spec)]

        def flatten(value: Any, found: list[Any]) -> None:
            if not isinstance(value, tuple) or len(value) != len(items):
                raise MismatchError(f"{path} is a {_outline(value)}, not a tuple of {len(items)}")
            for item, child in zip(items, value, strict=True):
                item(child, found)

        return flatten

    def _mapping_flattener(self, spec: Mapping[Any, Any], path: str) -> Flatten:
        items = {key: self._flattener(spec[key], f"{path}[{key!r}]") for key in sorted(spec)}

        def flatten(value: Any, found: list[Any]) -> None:
            if not isinstance(value, Mapping) or value.keys() != items.keys():
                keys = ", ".join(map(repr, items))
                raise MismatchError(f"{path} is a {_outline(value)}, not a dict of {keys}")
            for key, item in items.items():
                item(value[key], found)

        return flatten


class Leaf:
    """One tensor of an element."""

    def __init__(self, spec: tf.TensorSpec, path: str) -> None:
        self.dtype = np.dtype(spec.dtype.as_numpy_dtype)
        self._path = path
        self._dimensions = None if spec.shape.rank is None else tuple(spec.shape.as_list())
        fixed = spec.shape.is_fully_defined()
        self.shape: tuple[int, ...] | None = self._dimensions if fixed else None
        """The shape, where it is always the same."""

    def convert(self, value: Any) -> NDArray[Any]:
        """Return a value as an array of its own.

        Raises:
            MismatchError: its type cannot be cast, or its shape is another.
        """
        try:
            array = np.array(value, self.dtype, order="C")
        except (TypeError, ValueError, OverflowError) as error:
            raise MismatchError(f"{self._path} cannot be cast to {self.dtype}: {error}") from error
        if not self._fits(array.shape):
            raise MismatchError(f"{self._path} has shape {array.shape}, not {self._dimensions}")
        return array

    def column(self, size: int) -> NDArray[Any] | list[NDArray[Any]]:
        """Return room for a batch: an array, or a list where shapes vary or it might be too much.

        A batch as large as can be is how some ask for all samples at once.
        """
        if self.shape is None or size * self.dtype.itemsize * math.prod(self.shape) > _LARGEST:
            return []
        return np.empty((size, *self.shape), self.dtype)

    def _fits(self, shape: tuple[int, ...]) -> bool:
        wanted = self._dimensions
        if wanted is None:
            return True
        return len(shape) == len(wanted) and all(
            size is None or size == found for size, found in zip(wanted, shape, strict=True)
        )


class Batch:
    """Collects the samples of one batch; each is copied as it comes."""

    def __init__(self, form: Form, size: int) -> None:
        self._form = form
        self._rows = 0
        self._columns = [leaf.column(size) for leaf in form.leaves]

    def append(self, sample: Any) -> None:
        """Take a sample.

        Raises:
            MismatchError: it does not fit.
        """
        row = self._rows
        values = self._form.values(sample)
        for leaf, column, value in zip(self._form.leaves, self._columns, values, strict=True):
            if isinstance(column, list):
                column.append(leaf.convert(value))
            elif getattr(value, "dtype", None) is leaf.dtype and value.shape == leaf.shape:
                column[row] = value
            else:
                array = leaf.convert(value)
                # Among objects an array without axes would itself become an entry.
                column[row] = array if array.ndim else array.item()
        self._rows = row + 1

    def arrays(self) -> list[NDArray[Any]]:
        """Return the leaves of the batch.

        Raises:
            BatchError: samples have different shapes.
        """
        return [
            self._stacked(column) if isinstance(column, list) else column[: self._rows]
            for column in self._columns
        ]

    @staticmethod
    def _stacked(column: list[NDArray[Any]]) -> NDArray[Any]:
        shapes = sorted({array.shape for array in column})
        if len(shapes) > 1:
            message = (
                f"samples of one batch have shapes {' and '.join(map(str, shapes[:2]))}: "
                "use padded_batch, or make them alike"
            )
            raise BatchError(message)
        return np.stack(column)


def _outline(value: object) -> str:
    if isinstance(value, Mapping):
        return f"dict of {', '.join(map(repr, value))}"
    kind = type(value).__name__
    return f"{kind} of {len(value)}" if isinstance(value, tuple | list) else kind
