"""Iterators that tell of what they deliver, in eager loops and in the graphs of functions.

The state of such an iterator is that of the dataset as it stands without recording, so that
checkpoints of both are one.
"""

# TensorFlow lets nobody derive an iterator, so this module overrides private methods.
# ruff: noqa: SLF001

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.python.autograph.impl.api import autograph_artifact
from tensorflow.python.data.ops.iterator_ops import IteratorSpec, OwnedIterator

from detloader.adapters.tensorflow.telling import Form, Listener, tell
from detloader.errors import UsageError

__all__ = ["RecordedIterator"]


class _TellingIterator(OwnedIterator):
    """An iterator that tells of what another one delivers."""

    def __init__(self, given: OwnedIterator, token: Any, form: Form) -> None:
        # Not OwnedIterator's: the resource is the other one's.
        self._given = given
        self._token = token
        self._form = form

    @property
    def element_spec(self) -> Any:
        """The specification of one element."""
        return self._form.element(self._given.element_spec)

    @property
    def _type_spec(self) -> IteratorSpec:
        return _TellingIteratorSpec(self._given.element_spec, *self._form)

    def _next_internal(self) -> Any:
        return self._deliver(self._given._next_internal())

    @autograph_artifact  # type: ignore[untyped-decorator]  # TensorFlow has no types
    def get_next_as_optional(self) -> Any:
        """Return the next element as an optional, which is empty after the last."""
        given = self._given.get_next_as_optional()
        return tf.cond(
            given.has_value(),
            lambda: tf.experimental.Optional.from_value(self._deliver(given.get_value())),
            lambda: tf.experimental.Optional.empty(self.element_spec),
        )

    def _deliver(self, given: Any) -> Any:
        return tell(self._token, given, self._form)


class RecordedIterator(_TellingIterator):
    """The iterator of a recorded dataset, for eager loops and as an argument of functions."""

    def __init__(self, given: OwnedIterator, twin: object, listener: Listener) -> None:
        """Begin an iteration.

        Args:
            given: an iterator over the dataset as it is without recording.
            twin: the recorded dataset, whose run may end with it.
            listener: hears of each element.
        """
        super().__init__(given, listener.begin(), listener.form)
        self._twin = twin
        self._listener = listener

    @property
    def _iterator_resource(self) -> Any:
        """What elements are taken from by whoever does not ask this iterator."""
        self._listener.lose(UsageError(_TAKEN_UNSEEN))
        return self._given._iterator_resource

    def _next_internal(self) -> Any:
        self._listener.expect(self._token)
        with self._listener.breaks.noting(tf.errors.OutOfRangeError):
            return super()._next_internal()

    def _serialize_to_tensors(self) -> Any:
        return self._given._serialize_to_tensors()

    def _restore_from_tensors(self, restored_tensors: Any) -> Any:
        self._listener.begin_again(self._token)
        return self._given._restore_from_tensors(restored_tensors)

    def _copy_trackable_to_cpu(self, object_map: Any) -> None:
        self._given._copy_trackable_to_cpu(object_map)
        object_map[self] = object_map[self._given]

    def _save(self) -> Any:
        return self._given._save()

    def _restore(self, state: Any) -> Any:
        self._listener.begin_again(self._token)
        return self._given._restore(state)


class _TellingIteratorSpec(IteratorSpec):
    """Lets the graph of a function tell of what it takes from an iterator."""

    __slots__ = ("_form",)

    def __init__(self, given_spec: Any, *form: bool) -> None:
        super().__init__(given_spec)
        self._form = Form(*form)

    value_type = _TellingIterator

    def _serialize(self) -> tuple[Any, ...]:
        return (self._element_spec, *self._form)

    @property
    def _component_specs(self) -> tuple[Any, ...]:
        return tf.TensorSpec([], tf.resource), tf.TensorSpec([], tf.int64)

    def _to_components(self, value: _TellingIterator) -> tuple[Any, ...]:
        return value._given._iterator_resource, tf.convert_to_tensor(value._token, tf.int64)

    def _from_components(self, components: Any) -> _TellingIterator:
        resource, token = components
        given = OwnedIterator(components=(resource,), element_spec=self._element_spec)
        return _TellingIterator(given, token, self._form)


_TAKEN_UNSEEN = (
    "a tf.function whose input_signature names a tf.data.IteratorSpec takes elements where nobody "
    "sees it: leave the iterator out of the signature, or give the function the dataset"
)
