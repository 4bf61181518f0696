"""The twin of a dataset that a strategy distributes, and its iterators, which tell of elements.

An element is that of all replicas: what the strategy takes at once. It is told when the
strategy takes it, above all that was read ahead for its devices.
"""

# TensorFlow lets nobody derive these classes, so this module overrides private methods.
# ruff: noqa: SLF001

from __future__ import annotations

import contextlib
from typing import Any

import tensorflow as tf
from tensorflow.python.distribute.input_lib import DistributedIterator, _IterableInput
from tensorflow.python.framework.composite_tensor import CompositeTensor
from tensorflow.python.framework.type_spec import TypeSpec

from detloader.adapters.distribution import iterate_by_twin
from detloader.adapters.tensorflow.replicas import tell_replicas, tell_replicas_of_optional
from detloader.adapters.tensorflow.telling import Listener, begin
from detloader.recorder import Recorder, Sealing

__all__ = ["RecordedDistributed", "TellingDistributed"]

_as_it_is = tf.autograph.experimental.do_not_convert


class _TellingIterator(DistributedIterator):
    """An iterator that tells of what another one delivers to all replicas."""

    def __init__(
        self, given: DistributedIterator, token: Any, twin: RecordedDistributed | None
    ) -> None:
        self.__dict__.update(vars(given))
        self._given = given
        self._token = token
        self._twin = twin  # whose run may end with it; none in a graph

    @property
    def _type_spec(self) -> TypeSpec:
        return _TellingIteratorSpec(self._given._type_spec)

    @_as_it_is  # type: ignore[untyped-decorator]  # TensorFlow has no types
    def get_next(self, name: str | None = None) -> Any:
        """Return the next element of all replicas."""
        end = tf.errors.OutOfRangeError
        with contextlib.nullcontext() if self._twin is None else self._twin.breaks.noting(end):
            given = self._given.get_next(name)
        return tell_replicas(self._token, given)

    @_as_it_is  # type: ignore[untyped-decorator]  # TensorFlow has no types
    def get_next_as_optional(self) -> Any:
        """Return the next element as an optional, which is empty after the last."""
        return tell_replicas_of_optional(self._token, self._given.get_next_as_optional())


class _TellingSpec(TypeSpec):
    """Lets the graph of a function tell of what it takes from what another specification is of."""

    __slots__ = ("_given_spec",)

    def __init__(self, given_spec: TypeSpec) -> None:
        self._given_spec = given_spec

    def _serialize(self) -> tuple[Any, ...]:
        return (self._given_spec,)

    @property
    def _component_specs(self) -> tuple[Any, ...]:
        return self._given_spec, tf.TensorSpec([], tf.int64)


class _TellingIteratorSpec(_TellingSpec):
    __slots__ = ()

    value_type = _TellingIterator

    def _to_components(self, value: _TellingIterator) -> tuple[Any, ...]:
        return value._given, tf.convert_to_tensor(value._token, tf.int64)

    def _from_components(self, components: Any) -> _TellingIterator:
        given, token = components
        return _TellingIterator(given, token, None)


class TellingDistributed(_IterableInput, CompositeTensor):
    """A distributed dataset that tells of what a strategy takes from it."""

    def __init__(self, given: Any, key: Any) -> None:
        """Tell of one.

        Args:
            given: the distributed dataset.
            key: that of the listener, or a tensor that will be it.
        """
        super().__init__(given._input_workers)
        self._given = given
        self._key = key

    @property
    def element_spec(self) -> Any:
        """The specification of one element, of all replicas."""
        return self._given.element_spec

    @property
    def cardinality(self) -> Any:
        """The number of elements, as TensorFlow knows it."""
        return self._given.cardinality

    @property
    def _type_spec(self) -> TypeSpec:
        return _TellingDistributedSpec(self._given._type_spec)

    @_as_it_is  # type: ignore[untyped-decorator]  # TensorFlow has no types
    def __iter__(self) -> _TellingIterator:
        """Begin the next epoch, now or whenever the graph does."""
        return self._iterator(None)

    def _iterator(self, twin: RecordedDistributed | None) -> _TellingIterator:
        given = iterate_by_twin(self._given)
        return _TellingIterator(given, begin(self._key), twin)


class _TellingDistributedSpec(_TellingSpec):
    __slots__ = ()

    value_type = TellingDistributed

    def _to_components(self, value: TellingDistributed) -> tuple[Any, ...]:
        return value._given, tf.convert_to_tensor(value._key, tf.int64)

    def _from_components(self, components: Any) -> TellingDistributed:
        return TellingDistributed(*components)


class RecordedDistributed(Sealing, TellingDistributed):
    """A distributed dataset that records each element when the strategy takes it.

    Attributes:
        key: that of the listener.
        breaks: notes that the dataset broke off.
    """

    def __init__(self, given: Any, listener: Listener, recorder: Recorder[Any]) -> None:
        """Record what a strategy takes from a distributed dataset."""
        super().__init__(given, listener.key)
        self.key = listener.key
        self.breaks = recorder.breaks
        self._listener = listener
        self._recorder = recorder

    @_as_it_is  # type: ignore[untyped-decorator]  # TensorFlow has no types
    def __iter__(self) -> _TellingIterator:
        """Begin the next epoch, now or whenever the graph does."""
        return self._iterator(self if tf.executing_eagerly() else None)
