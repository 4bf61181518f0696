"""Keras's `fit`, `evaluate` and `predict`, recorded in a session; imports Keras."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import keras
from keras.src.trainers.data_adapters.tf_dataset_adapter import TFDatasetAdapter
from keras.src.trainers.data_adapters.torch_data_loader_adapter import TorchDataLoaderAdapter
from keras.src.trainers.epoch_iterator import EpochIterator

from detloader.adapters.fit import FitWatch
from detloader.interception.aside import without_recording
from detloader.interception.places import place_of_caller
from detloader.interception.session import Session, is_recorded

__all__ = ["SessionFit"]


class SessionFit(FitWatch):
    """Records what `fit`, `evaluate` and `predict` take, as streams named by lines."""

    phases = frozenset({"train", "test", "predict"})

    def __init__(self, session: Session) -> None:
        """Take the session that `fit` begins in."""
        super().__init__()
        self._session = session

    def look(self, batches: EpochIterator, data: Any) -> Any:
        """Return what is iterated; what the program's callback records has no streams besides."""
        looked = super().look(batches, data)
        is_ours = looked is data and is_recorded(data)
        if not is_ours or keras.backend.backend() == "tensorflow":
            return looked
        purpose = "train" if self._phases[-1] == "train" else "eval"
        return data if _is_the_programs(batches.data_adapter, purpose) else _Parts(data)

    def begin(self, loader: Any, adapter: Any, declared: dict[str, object]) -> Any | None:
        """Return the twin of what is iterated; None where that records itself."""
        data = getattr(loader, "data", loader)
        if is_recorded(data) or _is_the_programs(adapter, declared["purpose"]):
            return None
        return self._session.record(
            loader if loader is data else _Parts(loader),
            stream=place_of_caller(),
            batched=True,
            declared=declared,
        )


def _is_the_programs(adapter: Any, purpose: object) -> bool:
    """Tell whether the program made what is iterated, and knows it by another name.

    A loader of Torch's knows more of its records, too. A dataset that `fit` trains on is what
    `fit` made of it, shuffled and weighted, whoever made it.
    """
    takes_datasets = keras.backend.backend() == "tensorflow"  # others read their batches
    if isinstance(adapter, TorchDataLoaderAdapter):
        return not takes_datasets  # which knows it by contents alone
    return purpose == "eval" and takes_datasets and isinstance(adapter, TFDatasetAdapter)


class _Parts:
    """Iterates what Keras made as a part of `fit`, and as no loader of its own."""

    def __init__(self, loader: Iterable[Any]) -> None:
        self._loader = loader

    def __iter__(self) -> Iterator[Any]:
        with without_recording():
            batches = iter(self._loader)
        return _aside(batches)


def _aside(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield batches; that of a dataset is begun with the first one."""
    while True:
        with without_recording():
            try:
                batch = next(batches)
            except StopIteration:
                return
        yield batch
