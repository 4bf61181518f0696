"""Watches Keras's `fit`, `evaluate` and `predict`, on any backend: the batches that they take."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from weakref import WeakSet

import keras
from keras.src.trainers.epoch_iterator import EpochIterator

from detloader.adapters.fit_iterators import look_away, look_on
from detloader.adapters.fit_seeds import declare_shuffled_batches
from detloader.at_work import recorder_of
from detloader.errors import UsageError
from detloader.recorder import Recorder

__all__ = ["FitWatch"]

_OLDEST = (3, 8)
"""The first Keras in which one method of its iterators says what is iterated."""


class FitWatch(keras.callbacks.Callback):
    """A callback that lets `fit` iterate the twin of its data.

    Attributes:
        phases: what is watched: "train", "test" (`evaluate`, and validation within `fit`) and
            "predict"; the others are left alone.
    """

    phases = frozenset({"train"})

    def __init__(self) -> None:
        """Look at nothing yet.

        Raises:
            UsageError: Keras is too old.
        """
        super().__init__()
        _require_keras()
        self._phases: list[str] = []
        self._watched: dict[str, _Watched] = {}
        self._others: WeakSet[EpochIterator] = WeakSet()
        # After a `fit` that raised, and so never said that it had ended. When the program ends,
        # recorders seal what is left.
        forgotten = weakref.finalize(self, _forget, self._watched)
        forgotten.atexit = False

    def begin(self, loader: Any, adapter: Any, declared: dict[str, object]) -> Any | None:
        """Return the twin of what is iterated; None where that is not to be recorded.

        Args:
            loader: an iterable of batches, one pass for each epoch.
            adapter: what Keras made of the data that it was given.
            declared: what Keras says of them.
        """
        raise NotImplementedError

    def on_train_begin(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - Keras's
        """Look on from here."""
        if self._phases:
            self._end(broken_off=True)  # the `fit` before this one raised
        self._enter("train")

    def on_train_end(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - Keras's
        """Seal the run."""
        self._leave()

    def on_test_begin(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - Keras's
        """Look at validation, or let it pass."""
        self._enter("test")

    def on_test_end(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - Keras's
        """Look at training again, if there is one."""
        self._leave()

    def on_predict_begin(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - Keras's
        """Look on from here."""
        self._enter("predict")

    def on_predict_end(self, logs: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002 - Keras's
        """Seal the run."""
        self._leave()

    def _enter(self, phase: str) -> None:
        if not self._phases:
            look_on(self)
        self._others.clear()
        self._phases.append(phase)

    def _leave(self) -> None:
        self._phases.pop()
        if not self._phases:
            self._end()

    def note(self, batches: EpochIterator) -> None:
        """Hear of an iterator: that of a phase was made before it began."""
        self._others.add(batches)

    def look(self, batches: EpochIterator, data: Any) -> Any:
        """Return what is to be iterated in place of Keras's data."""
        phase = self._phases[-1]
        if phase not in self.phases:
            return data
        watched = self._watched.get(phase)
        if watched is None and batches in self._others:
            return data  # of what another callback evaluates meanwhile
        if watched is None:
            watched = self._watched[phase] = self._begin(phase, batches, data)
        if watched.batches is not batches or watched.twin is None:
            return data
        if watched.passes is not None:
            watched.passes.data = data
        return watched.twin

    def _begin(self, phase: str, batches: EpochIterator, data: Any) -> _Watched:
        # TensorFlow's loop takes its own datasets alone; the others make new data each epoch.
        passes = None if keras.backend.backend() == "tensorflow" else _Passes(data)
        loader = data if passes is None else passes
        declared = _declared(batches, phase, self.params or {})
        twin = self.begin(loader, batches.data_adapter, declared)
        recorder = None if twin is None else recorder_of(twin)
        if recorder is not None:
            recorder.breaks.noted = True  # until it is said that all went well
        return _Watched(batches, passes, twin, recorder)

    def _end(self, *, broken_off: bool = False) -> None:
        self._phases.clear()
        look_away(self)
        _seal(self._watched, broken_off=broken_off)


def _forget(watched: dict[str, _Watched]) -> None:
    look_away(None)
    _seal(watched, broken_off=True)


def _seal(watched: dict[str, _Watched], *, broken_off: bool) -> None:
    for each in watched.values():
        if each.recorder is not None:
            each.recorder.breaks.noted = broken_off
        if each.twin is not None:
            each.twin.close(broken_off=broken_off)
    watched.clear()


class _Passes:
    """Whatever Keras iterates in this pass."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __iter__(self) -> Iterator[Any]:
        return iter(self.data)


class _Watched(NamedTuple):
    """What is iterated in one phase, and in its place; nothing where it is not recorded."""

    batches: EpochIterator
    passes: _Passes | None
    twin: Any | None
    recorder: Recorder[Any] | None


def _require_keras() -> None:
    version = keras.__version__
    if tuple(map(int, version.split(".")[:2])) < _OLDEST:
        raise UsageError(f"what fit iterates cannot be seen in Keras {version}: upgrade to 3.8")


def _declared(batches: EpochIterator, phase: str, params: Mapping[str, Any]) -> dict[str, object]:
    adapter = batches.data_adapter
    shuffle = getattr(adapter, "_shuffle", getattr(adapter, "shuffle", None))
    told = {
        "loader": f"fit({type(adapter).__name__})",
        "purpose": "train",
        "num_epochs": params.get("epochs"),
        # That of a distributed dataset is none that its adapter could tell.
        "batch_size": getattr(adapter, "batch_size", None),
        "shuffle": None if shuffle is None else bool(shuffle),
        "source_size": getattr(adapter, "_num_samples", None),
        **declare_shuffled_batches(adapter, batches.num_batches),
    }
    if phase != "train":
        name = "evaluate" if phase == "test" else phase
        told |= {"loader": f"{name}({type(adapter).__name__})", "purpose": "eval"}
        del told["num_epochs"]
        if batches.steps_per_epoch is not None:
            del told["source_size"]  # what is not read is meant
    return {name: value for name, value in told.items() if value is not None}
