"""A TensorFlow dataset whose elements keep, unseen, the IDs of their records."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from detloader.tensorflow.attribution import MARK, Attribution
from detloader.tensorflow.from_python import Reading
from detloader.tensorflow.iterator import NamingIterator

__all__ = ["AttributedDataset"]


def _on_pairs(name: str) -> Callable[..., AttributedDataset]:
    """Return an operation that treats the mark as it treats the element."""

    @functools.wraps(getattr(tf.data.Dataset, name))
    def operation(dataset: AttributedDataset, *arguments: Any, **options: Any) -> AttributedDataset:
        return dataset.like(getattr(dataset.pairs, name)(*arguments, **options))

    return operation


class AttributedDataset(tf.data.Dataset):
    """A dataset of elements that are made together with marks.

    Elements, their order and all random operations are those that the dataset would have
    without marks. The operations defined here keep the marks; any other gives a plain
    dataset, which knows no IDs.

    Attributes:
        pairs: the dataset of (element, mark); marks are int64, of shape (2,) or (rows, 2).
        attribution: who can read the marks.
    """

    def __init__(
        self, pairs: tf.data.Dataset, attribution: Attribution, reading: Reading | None = None
    ) -> None:
        """Hide the marks.

        Args:
            pairs: the dataset of (element, mark).
            attribution: who can read the marks.
            reading: what the pairs come from, where nothing was done to them yet.
        """
        self.pairs = pairs
        self.attribution = attribution
        self._reading = reading
        # Or TensorFlow would make it a parallel operation, which reads ahead.
        self._elements = pairs.map(_element_alone, synchronous=True)
        super().__init__(tf.data.experimental.to_variant(self._elements))

    def _inputs(self) -> list[tf.data.Dataset]:
        return [self._elements]

    @property
    def element_spec(self) -> Any:
        """The specification of one element."""
        return self.pairs.element_spec[0]

    @property
    def mark_rank(self) -> int:
        """Axes before a mark's own: 0 where an element is one sample, 1 where it is a batch."""
        rank: int = self.pairs.element_spec[1].shape.rank - 1
        return rank

    def __iter__(self) -> Any:
        """Begin an iteration."""
        if not tf.executing_eagerly():
            return super().__iter__()
        return NamingIterator(self, self.attribution)

    def like(self, pairs: tf.data.Dataset) -> AttributedDataset:
        """Return a dataset of other pairs with marks of the same kind."""
        return AttributedDataset(pairs, self.attribution)

    prefetch = _on_pairs("prefetch")
    repeat = _on_pairs("repeat")
    shard = _on_pairs("shard")
    shuffle = _on_pairs("shuffle")
    skip = _on_pairs("skip")
    take = _on_pairs("take")
    with_options = _on_pairs("with_options")

    def batch(
        self,
        batch_size: Any,
        drop_remainder: Any = False,  # noqa: FBT002 - TensorFlow's parameter
        num_parallel_calls: Any = None,
        deterministic: Any = None,
        name: str | None = None,
    ) -> tf.data.Dataset:
        """Combine consecutive elements into batches, as `tf.data.Dataset.batch`."""
        if self.mark_rank:
            # Marks of batches of several sizes would not fit into one batch.
            return super().batch(
                batch_size, drop_remainder, num_parallel_calls, deterministic, name
            )
        reading = self._reading
        simple = _is_simple(batch_size, drop_remainder, num_parallel_calls)
        if reading is not None and reading.makes_batches and simple:
            return self.like(reading.batches(batch_size, drop_remainder=drop_remainder))
        return self.like(
            self.pairs.batch(batch_size, drop_remainder, num_parallel_calls, deterministic, name)
        )

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: Any = False,  # noqa: FBT002 - TensorFlow's parameter
        name: str | None = None,
    ) -> tf.data.Dataset:
        """Combine and pad consecutive elements, as `tf.data.Dataset.padded_batch`."""
        if self.mark_rank:
            return super().padded_batch(
                batch_size, padded_shapes, padding_values, drop_remainder, name
            )
        if padded_shapes is not None:
            padded_shapes = padded_shapes, [MARK]
        if padding_values is not None:
            if not tf.nest.is_nested(padding_values):
                value = padding_values
                padding_values = tf.nest.map_structure(lambda _: value, self.element_spec)
            padding_values = padding_values, None
        return self.like(
            self.pairs.padded_batch(batch_size, padded_shapes, padding_values, drop_remainder, name)
        )

    def cache(self, filename: Any = "", name: str | None = None) -> tf.data.Dataset:
        """Keep the elements, as `tf.data.Dataset.cache`; in a file without their marks."""
        if not isinstance(filename, str) or filename:
            return super().cache(filename, name)
        return self.like(self.pairs.cache(name=name))

    def map(
        self, map_func: Callable[..., Any], *arguments: Any, **options: Any
    ) -> AttributedDataset:
        """Map elements, as `tf.data.Dataset.map`.

        A function of a batch is trusted to leave its rows in their order.
        """

        def map_pair(element: Any, mark: Any) -> Any:
            result = _call(map_func, element)
            # As TensorFlow does with a list that is the whole result.
            return tuple(result) if isinstance(result, list) else result, mark

        return self.like(self.pairs.map(map_pair, *arguments, **options))

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> AttributedDataset:
        """Keep some elements, as `tf.data.Dataset.filter`."""
        return self.like(self.pairs.filter(lambda element, _: _call(predicate, element), name=name))

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> tf.data.Dataset:
        """Map elements to datasets and flatten, as `tf.data.Dataset.flat_map`."""
        if self.mark_rank:
            return super().flat_map(map_func, name)  # which row of a batch is whose is not known
        return self.like(self.pairs.flat_map(_marking(map_func), name=name))

    def interleave(
        self, map_func: Callable[..., Any], *arguments: Any, **options: Any
    ) -> tf.data.Dataset:
        """Map elements to datasets and interleave them, as `tf.data.Dataset.interleave`."""
        if self.mark_rank:
            return super().interleave(map_func, *arguments, **options)
        return self.like(self.pairs.interleave(_marking(map_func), *arguments, **options))

    def enumerate(self, start: Any = 0, name: str | None = None) -> AttributedDataset:
        """Number the elements, as `tf.data.Dataset.enumerate`."""
        numbered = self.pairs.enumerate(start, name=name)
        return self.like(
            numbered.map(lambda number, pair: ((number, pair[0]), pair[1]), synchronous=True)
        )

    def unbatch(self, name: str | None = None) -> tf.data.Dataset:
        """Split elements into their rows, as `tf.data.Dataset.unbatch`."""
        rows = self._with_mark_for_each_row()
        return super().unbatch(name) if rows is None else self.like(rows.unbatch(name))

    def rebatch(
        self,
        batch_size: Any,
        drop_remainder: Any = False,  # noqa: FBT002 - TensorFlow's parameter
        name: str | None = None,
    ) -> tf.data.Dataset:
        """Change the size of batches, as `tf.data.Dataset.rebatch`."""
        rows = self._with_mark_for_each_row()
        if rows is None:
            return super().rebatch(batch_size, drop_remainder, name)
        return self.like(rows.rebatch(batch_size, drop_remainder, name))

    def _with_mark_for_each_row(self) -> tf.data.Dataset | None:
        """Return the pairs with as many marks as the elements have rows.

        A sample that is split into rows gives each of them its mark; where a batch has other
        rows than it was made of, nobody knows whose they are.
        """
        first = tf.nest.flatten(self.element_spec)[0]
        if type(first) is not tf.TensorSpec or not first.shape.rank:
            return None
        spread = _one_for_each_row if self.mark_rank == 0 else _as_many_as_rows

        def mark_rows(element: Any, mark: Any) -> Any:
            rows = tf.shape(tf.nest.flatten(element)[0], tf.int64)[:1]
            marks = spread(rows, mark)
            marks.set_shape([first.shape[0], *marks.shape[1:]])
            return element, marks

        return self.pairs.map(mark_rows, synchronous=True)


def _one_for_each_row(rows: Any, mark: Any) -> Any:
    return tf.broadcast_to(mark, tf.concat([rows, [MARK]], 0))


def _as_many_as_rows(rows: Any, marks: Any) -> Any:
    shape = tf.concat([rows, tf.shape(marks, tf.int64)[1:]], 0)
    agree = tf.reduce_all(tf.equal(shape, tf.shape(marks, tf.int64)))
    return tf.cond(agree, lambda: marks, lambda: tf.fill(shape, tf.constant(-1, tf.int64)))


def _element_alone(element: Any, mark: Any) -> Any:  # noqa: ARG001 - to be hidden is its purpose
    return element


def _call(function: Callable[..., Any], element: Any) -> Any:
    """Call a function as TensorFlow does: with a tuple as its arguments."""
    return function(*element) if type(element) is tuple else function(element)


def _marking(map_func: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """Let the datasets that a function makes of elements carry the elements' marks."""

    def map_pair(element: Any, mark: Any) -> Any:
        made = _call(map_func, element)
        if not isinstance(made, tf.data.Dataset):
            return made  # TensorFlow says what is wrong with it
        is_tuple = type(made.element_spec) is tuple
        return made.map(lambda *parts: (parts if is_tuple else parts[0], mark), synchronous=True)

    return map_pair


def _is_simple(batch_size: Any, drop_remainder: Any, num_parallel_calls: Any) -> bool:
    return (
        type(batch_size) is int
        and batch_size > 0
        and isinstance(drop_remainder, bool)
        and num_parallel_calls is None
    )
