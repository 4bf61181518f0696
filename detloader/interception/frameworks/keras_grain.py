"""Keras takes two batches of a Grain dataset to see what they are like: that is no training."""

from __future__ import annotations

from types import ModuleType

from detloader.interception.changes import Changes
from detloader.interception.frameworks.keras_building import unrecorded

__all__ = ["MODULE", "install"]

MODULE = "keras.src.trainers.data_adapters.grain_dataset_adapter"


def install(module: ModuleType, changes: Changes) -> None:
    """Change what looks at a dataset."""
    changes.replace(module.GrainDatasetAdapter, "_get_dataset_info", unrecorded)
