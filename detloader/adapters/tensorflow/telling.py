"""How a recorder hears of elements: from Python where that has them, from a graph where not."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np
import tensorflow as tf

from detloader.adapters.tensorflow.iterations import Iterations
from detloader.adapters.tensorflow.readers import Reader
from detloader.adapters.tensorflow.restored import is_told
from detloader.breaking import note_beginning
from detloader.recorder import Recorder

__all__ = ["Form", "Listener", "begin", "tell", "tell_parts"]


class Form(NamedTuple):
    """What a dataset gives for each element, and what of that is told.

    Attributes:
        is_pair: whether an element comes with its mark, which nobody but the reader sees.
        has_arrays: whether the element's own arrays are told.
    """

    is_pair: bool
    has_arrays: bool

    def element(self, given: Any) -> Any:
        """Return what the loop gets; of a specification, that of an element."""
        return given[0] if self.is_pair else given

    def told(self, given: Any) -> list[Any]:
        """Return the tensors that a reader reads: the mark, and the element's own."""
        marks = [given[1]] if self.is_pair else []
        if not self.has_arrays:
            return marks
        parts = tf.nest.flatten(self.element(given), expand_composites=True)
        return [*marks, *filter(is_told, parts)]


class Listener:
    """Hears of iterations and of elements, in whatever thread they are told.

    Attributes:
        form: what is to be told.
        key: by which graphs know it; no other one in this process has it.
        breaks: notes that the dataset broke off.
    """

    def __init__(self, reader: Reader, recorder: Recorder[Any]) -> None:
        self.key = next(_keys)
        _by_key[self.key] = self
        self.form = Form(reader.marked, reader.needs_elements)
        self._reader = reader
        self._recorder = recorder
        self._iterations = Iterations(reader.begin)
        self.breaks = recorder.breaks

    def begin(self) -> int:
        """Return the token of an iteration."""
        note_beginning(self.breaks)
        token = self._iterations.begin()
        _listeners[token] = self
        return token

    def begin_again(self, token: int) -> None:
        """Let an iteration that is set to another place be a new one."""
        self._iterations.begin_again(token)

    def expect(self, token: int) -> None:
        """Hear that an element is asked for: with the first one, an iteration begins."""
        self.breaks.asked = True
        if not self.has_heard(token):
            self._iterations.begin_again(token)

    def has_heard(self, token: int) -> bool:
        """Tell whether an element of an iteration was told."""
        return self._iterations.has_delivered(token)

    def hear(self, token: int, arrays: tuple[Any, ...]) -> None:
        """Record an element; raises nothing of its own, for the training goes on."""
        self.breaks.asked = True
        try:
            iteration = self._iterations.step(token)
            chunk, last_epoch = self._reader.read(arrays, iteration)
            self._iterations.done(iteration, last_epoch)
        except Exception as error:  # noqa: BLE001  # whatever it is, the training goes on
            self._recorder.lose(error)
        else:
            if chunk.rows:
                self._recorder.put(chunk)

    def lose(self, error: Exception) -> None:
        """Note that elements go by unheard."""
        self._recorder.lose(error)


_keys = itertools.count()
_by_key: WeakValueDictionary[int, Listener] = WeakValueDictionary()
_listeners: WeakValueDictionary[int, Listener] = WeakValueDictionary()
"""Who hears of an iteration, by its token: one function is traced for the iterators of many."""


def begin(key: Any) -> Any:
    """Return the token of an iteration that begins now, or whenever the graph comes to it.

    Args:
        key: that of a listener, or a tensor that will be one; nobody hears of what has none.
    """
    token = tf.numpy_function(_begin, [tf.convert_to_tensor(key, tf.int64)], tf.int64)
    token.set_shape(())
    return token


def tell(token: Any, given: Any, form: Form) -> Any:
    """Tell of an element, now or whenever the graph delivers one; returns it without a mark.

    Args:
        token: an integer, or a tensor that will be one.
        given: what a dataset of that form gives.
        form: what is to be told.
    """
    return tell_parts(token, form.told(given), form.element(given))


def tell_parts(token: Any, told: list[Any], element: Any) -> Any:
    """Tell of tensors, now or whenever the graph delivers them; returns the element.

    Args:
        token: an integer, or a tensor that will be one.
        told: what is told.
        element: what the loop gets, once that was told.
    """
    if tf.executing_eagerly():
        _hear(token, *(part.numpy() for part in told))
        return element
    heard = tf.numpy_function(_hear, [token, *told], tf.int64)
    # In a loop, TensorFlow may run ahead of what nothing waits for.
    with tf.control_dependencies([heard]):
        return tf.nest.map_structure(_after, element, expand_composites=True)


def _after(part: Any) -> Any:
    if not is_told(part):
        return part
    with tf.device(part.device):
        return tf.identity(part)


def _begin(key: Any) -> np.int64:
    listener = _by_key.get(int(key))
    return np.int64(-1 if listener is None else listener.begin())


def _hear(token: Any, *arrays: Any) -> np.int64:
    listener = _listeners.get(int(token))
    if listener is not None:
        listener.hear(int(token), arrays)
    return np.int64(0)
