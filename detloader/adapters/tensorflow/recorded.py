"""The twin of a TensorFlow dataset, which records what it delivers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.data.ops.options import ExternalStatePolicy

from detloader.adapters.tensorflow.iterations import Iterations
from detloader.adapters.tensorflow.readers import Reader
from detloader.adapters.tensorflow.restored import is_told
from detloader.breaking import Breaks
from detloader.recorder import Recorder, Sealing
from detloader.tensorflow.attribution import Attribution
from detloader.tensorflow.iterator import NamingIterator

__all__ = ["RecordedDataset"]


class RecordedDataset(Sealing, tf.data.Dataset):
    """A dataset that records each element when it is delivered; elements are unchanged.

    Each iteration is the next epoch, or the next ones where its elements belong to several
    passes. What is done with the dataset afterwards, such as `prefetch`, reads from it: an
    element is then recorded when that takes it.
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
        self._told = _told(dataset, reader, _Watch(reader, recorder))
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
        return _RecordedIterator(self, self._attribution, self._recorder.breaks)


class _RecordedIterator(NamingIterator):
    def __init__(self, dataset: RecordedDataset, attribution: Attribution, breaks: Breaks) -> None:
        super().__init__(dataset, attribution)
        self._breaks = breaks

    def _named(self, step: Callable[[], Any]) -> Any:
        try:
            return super()._named(step)
        except (StopIteration, tf.errors.OutOfRangeError):
            raise
        except BaseException:
            self._breaks.noted = True
            raise


class _Watch:
    """Hears of iterations and of elements, in whatever thread TensorFlow tells them."""

    def __init__(self, reader: Reader, recorder: Recorder[Any]) -> None:
        self._reader = reader
        self._recorder = recorder
        self._iterations = Iterations(reader.begin)

    def begin(self) -> np.int64:
        """Return the token of an iteration."""
        return np.int64(self._iterations.begin())

    def hear(self, token: np.int64, *arrays: Any) -> np.int64:
        """Record an element; raises nothing of its own, for the training goes on."""
        try:
            iteration = self._iterations.step(int(token))
            chunk, last_epoch = self._reader.read(arrays, iteration)
            self._iterations.done(iteration, last_epoch)
        except Exception as error:  # noqa: BLE001  # whatever it is, the training goes on
            self._recorder.lose(error)
        else:
            if chunk.rows:
                self._recorder.put(chunk)
        return np.int64(0)


_as_it_is = tf.autograph.experimental.do_not_convert


def _told(dataset: tf.data.Dataset, reader: Reader, watch: _Watch) -> tf.data.Dataset:
    def tell(token: Any, given: Any) -> Any:
        element, *marks = given if reader.marked else (given,)
        parts = tf.nest.flatten(element, expand_composites=True) if reader.needs_elements else []
        told = [part for part in parts if is_told(part)]
        tf.numpy_function(watch.hear, [token, *marks, *told], tf.int64)
        return element

    paired = tf.data.Dataset.zip((_tokens(watch), _ahead(dataset)))
    told = paired.map(_as_it_is(tell), synchronous=True)
    options = tf.data.Options()
    # Or TensorFlow would read ahead of the loop, and what is read would count as delivered.
    options.experimental_optimization.inject_prefetch = False
    # Or no iterator could be saved: the telling has no state that a checkpoint would miss.
    options.experimental_external_state_policy = ExternalStatePolicy.IGNORE
    return told.with_options(options)


def _tokens(watch: _Watch) -> tf.data.Dataset:
    """Return a dataset that repeats one token for as long as an iteration lasts."""

    def repeat_token(_: Any) -> tf.data.Dataset:
        token = tf.numpy_function(watch.begin, [], tf.int64)
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
