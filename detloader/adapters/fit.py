"""Watches Keras's `fit`, on any backend: the batches that it takes, in its order."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from weakref import WeakMethod

import keras
from keras.src.trainers.epoch_iterator import EpochIterator

from detloader.errors import UsageError

__all__ = ["FitWatch"]

_OLDEST = (3, 8)
"""The first Keras in which one method of its iterators says what is iterated."""


class FitWatch(keras.callbacks.Callback):
    """A callback that lets `fit` iterate the twin of its data; validation is left alone."""

    def __init__(self) -> None:
        """Look at nothing yet.

        Raises:
            UsageError: Keras is too old.
        """
        super().__init__()
        _require_keras()
        self._recorded: Any = None
        self._training: EpochIterator | None = None
        self._passes: _Passes | None = None
        self._is_testing = False
        self._patches = contextlib.ExitStack()

    def begin(self, loader: Any, adapter: Any, declared: dict[str, object]) -> Any | None:
        """Return the twin of what `fit` iterates; None where that is not to be recorded.

        Args:
            loader: an iterable of batches, one pass for each epoch.
            adapter: what Keras made of the data that `fit` was given.
            declared: what `fit` says of them.
        """
        raise NotImplementedError

    def on_train_begin(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - Keras's
        """Look on from here."""
        for kind in _kinds(EpochIterator):
            self._patches.enter_context(_replaced(kind, self._watched))

    def on_train_end(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - Keras's
        """Seal the run."""
        self._end()

    def on_test_begin(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - Keras's
        """Let validation pass."""
        self._is_testing = True

    def on_test_end(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - Keras's
        """Look on again."""
        self._is_testing = False

    def _watched(self, batches: EpochIterator, data: Any) -> Any:
        """Return what is to be iterated in place of `fit`'s data."""
        if self._is_testing or (self._training or batches) is not batches:
            return data
        if self._training is None:
            self._training = batches
            # TensorFlow's loop takes its own datasets alone; the others make new data each epoch.
            own = keras.backend.backend() == "tensorflow"
            self._passes = None if own else _Passes(data)
            loader = data if own else self._passes
            declared = _declared(batches, self.params or {})
            self._recorded = self.begin(loader, batches.data_adapter, declared)
        if self._passes is not None:
            self._passes.data = data
        return data if self._recorded is None else self._recorded

    def _end(self, *, broken_off: bool = False) -> None:
        self._patches.close()
        if self._recorded is not None:
            self._recorded.close(broken_off=broken_off)
        self._recorded = self._training = self._passes = None

    def __del__(self) -> None:
        """Look away after a `fit` that raised, and so never said that it had ended."""
        if self._training is not None:
            self._end(broken_off=True)


class _Passes:
    """Whatever `fit` iterates in this epoch."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __iter__(self) -> Iterator[Any]:
        return iter(self.data)


def _require_keras() -> None:
    version = keras.__version__
    if tuple(map(int, version.split(".")[:2])) < _OLDEST:
        raise UsageError(f"what fit iterates cannot be seen in Keras {version}: upgrade to 3.8")


def _kinds(kind: Any) -> Iterator[Any]:
    """Yield the classes of iterators that say themselves what is iterated."""
    if "_get_iterator" in vars(kind):
        yield kind
    for derived in kind.__subclasses__():
        yield from _kinds(derived)


@contextlib.contextmanager
def _replaced(kind: Any, watched: Callable[[EpochIterator, Any], Any]) -> Iterator[None]:
    """Let the iterators of a class iterate what a function makes of their data."""
    original = kind._get_iterator  # noqa: SLF001 - Keras offers no place to look on
    to_watched = WeakMethod(watched)

    @functools.wraps(original)
    def get_iterator(batches: EpochIterator) -> Any:
        data = original(batches)
        found = to_watched()
        return data if found is None else found(batches, data)

    kind._get_iterator = get_iterator  # noqa: SLF001
    try:
        yield
    finally:
        kind._get_iterator = original  # noqa: SLF001


def _declared(batches: EpochIterator, params: Mapping[str, Any]) -> dict[str, object]:
    adapter = batches.data_adapter
    told = {
        "loader": f"fit({type(adapter).__name__})",
        "purpose": "train",
        "num_epochs": params.get("epochs"),
        "batch_size": adapter.batch_size,
        "shuffle": getattr(adapter, "_shuffle", getattr(adapter, "shuffle", None)),
        "source_size": getattr(adapter, "_num_samples", None),
    }
    shuffle = told["shuffle"]
    told["shuffle"] = None if shuffle is None else bool(shuffle)
    return {name: value for name, value in told.items() if value is not None}
