"""Our own datasets for TensorFlow, which begin iterations by themselves."""

from __future__ import annotations

from types import ModuleType

from detloader.interception.changes import Changes
from detloader.interception.frameworks.tensorflow import iterating_twins

__all__ = ["MODULE", "install"]

MODULE = "detloader.tensorflow.attributed"


def install(module: ModuleType, changes: Changes) -> None:
    """Change how they begin; all else of them is TensorFlow's."""
    changes.replace(module.AttributedDataset, "__iter__", iterating_twins)
