"""Keras takes two batches of a Torch loader to see what TensorFlow is to expect: no training."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from detloader.interception.aside import without_recording
from detloader.interception.changes import Changes
from detloader.interception.frameworks.torch import adopt_unless_recorded

__all__ = ["MODULE", "install"]

MODULE = "keras.src.trainers.data_adapters.torch_data_loader_adapter"


def install(module: ModuleType, changes: Changes) -> None:
    """Change what makes a dataset of a loader."""
    changes.replace(module.TorchDataLoaderAdapter, "get_tf_dataset", _looking_aside)


def _looking_aside(make: Any) -> Any:
    @functools.wraps(make)
    def making(adapter: Any) -> Any:
        # Before: its workers, where they persist, are begun here.
        adopt_unless_recorded(adapter.get_torch_dataloader())
        with without_recording():
            return make(adapter)

    return making
