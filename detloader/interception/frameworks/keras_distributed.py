"""Keras takes a batch to build a model with, under a strategy of TensorFlow's, too."""

from __future__ import annotations

from types import ModuleType

from detloader.interception.changes import Changes
from detloader.interception.frameworks.keras_building import unrecorded

__all__ = ["MODULE", "install"]

MODULE = "keras.src.backend.tensorflow.trainer"


def install(module: ModuleType, changes: Changes) -> None:
    """Change what builds a model that was made under a strategy."""
    changes.replace(module.TensorFlowTrainer, "_maybe_symbolic_build", unrecorded)
