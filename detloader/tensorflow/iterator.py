"""Iterators over datasets of Python's making, whose errors keep their names."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.python.data.ops.iterator_ops import OwnedIterator

from detloader.tensorflow.attribution import Attribution

__all__ = ["NamingIterator"]


class NamingIterator(OwnedIterator):
    """TensorFlow's own iterator, but that it raises what stopped the stream.

    TensorFlow makes an `InvalidArgumentError` or an `UnknownError` of whatever Python raises
    within a dataset, and keeps the text alone.
    """

    def __init__(self, dataset: tf.data.Dataset, attribution: Attribution) -> None:
        super().__init__(dataset)
        self._attribution = attribution
        self._failure: Exception | None = None

    def _next_internal(self) -> Any:
        if self._failure is not None:
            raise self._failure
        try:
            return super()._next_internal()
        except tf.errors.OutOfRangeError:
            raise
        except tf.errors.OpError as error:
            self._failure = self._attribution.failure_in(str(error))
            if self._failure is None:
                raise
            # The cause is the user's own error; TensorFlow's account of it adds nothing.
            raise self._failure from self._failure.__cause__
