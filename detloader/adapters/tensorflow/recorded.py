"""The twin of a TensorFlow dataset, which records what it delivers."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.autograph.impl.api import autograph_artifact
from tensorflow.python.data.ops.options import ExternalStatePolicy

from detloader.adapters.tensorflow.iterator import RecordedIterator
from detloader.adapters.tensorflow.readers import Reader
from detloader.adapters.tensorflow.telling import Listener, tell
from detloader.breaking import breaking_off
from detloader.recorder import Recorder, Sealing
from detloader.tensorflow.attribution import Attribution
from detloader.tensorflow.iterator import NamingIterator

__all__ = ["RecordedDataset"]


class RecordedDataset(Sealing, tf.data.Dataset):
    """A dataset that records each element when it is delivered; elements are unchanged.

    Each iteration is the next epoch, or the next ones where its elements belong to several
    passes. An iterator is told of from Python, and its state is that without recording. What
    TensorFlow iterates by itself is told of by a last operation: so what is done with the
    dataset afterwards, such as `prefetch`, reads from it, and an element is recorded when that
    takes it.
    """

    def __init__(
        self,
        dataset: tf.data.Dataset,
        reader: Reader,
        recorder: Recorder[Any],
        attribution: Attribution,
    ) -> None:
        """Put the telling of elements after a dataset, of pairs where the reader is of marks."""
        self._recorder = recorder
        self._attribution = attribution
        self._given = dataset
        self._listener = Listener(reader, recorder)
        self._told = _told(dataset, self._listener)
        super().__init__(tf.data.experimental.to_variant(self._told))

    def _inputs(self) -> list[tf.data.Dataset]:
        return [self._told]

    @property
    def element_spec(self) -> Any:
        """The specification of one element."""
        return self._told.element_spec

    def __iter__(self) -> Any:
        """Begin the next epoch."""
        if not tf.executing_eagerly():
            return super().__iter__()
        given = NamingIterator(self._given, self._attribution)
        return RecordedIterator(given, self, self._listener)

    @autograph_artifact  # type: ignore[untyped-decorator]  # TensorFlow has no types
    def reduce(self, *arguments: Any, **options: Any) -> Any:
        """Reduce the dataset to one value; an error that comes out of it leaves a part."""
        with breaking_off(tf.errors.OutOfRangeError):
            return super().reduce(*arguments, **options)


_as_it_is = tf.autograph.experimental.do_not_convert


def _told(dataset: tf.data.Dataset, listener: Listener) -> tf.data.Dataset:
    paired = tf.data.Dataset.zip((_tokens(listener), _ahead(dataset)))
    told = paired.map(
        _as_it_is(lambda token, given: tell(token, given, listener.form)), synchronous=True
    )
    options = tf.data.Options()
    # Or TensorFlow would read ahead of the loop, and what is read would count as delivered.
    options.experimental_optimization.inject_prefetch = False
    # Or no iterator could be saved: the telling has no state that a checkpoint would miss.
    options.experimental_external_state_policy = ExternalStatePolicy.IGNORE
    return told.with_options(options)


def _tokens(listener: Listener) -> tf.data.Dataset:
    """Return a dataset that repeats one token for as long as an iteration lasts."""

    def begin() -> np.int64:
        token = listener.begin()
        listener.expect(token)
        return np.int64(token)

    def repeat_token(_: Any) -> tf.data.Dataset:
        token = tf.numpy_function(begin, [], tf.int64)
        token.set_shape(())
        return tf.data.Dataset.from_tensors(token).repeat()

    tokens = tf.data.Dataset.from_tensors(0).flat_map(_as_it_is(repeat_token))
    # What a zipped dataset knows of its length is the least of what its parts know.
    endless = tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
    return tokens.apply(endless)


def _ahead(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Let TensorFlow read ahead before the telling, where it would have done so at the end."""
    options = dataset.options()
    wanted = options.autotune.enabled, options.experimental_optimization.inject_prefetch
    return dataset if False in wanted else dataset.prefetch(tf.data.AUTOTUNE)
