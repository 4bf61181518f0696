"""Keras looks at a batch to build a model with, on Torch and on JAX: that is no training."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from detloader.interception.aside import without_recording
from detloader.interception.changes import Changes

__all__ = ["MODULE", "install", "unrecorded"]

MODULE = "keras.src.trainers.trainer"


def install(module: ModuleType, changes: Changes) -> None:
    """Change what builds a model."""
    changes.replace(module.Trainer, "_symbolic_build", unrecorded)


def unrecorded(build: Any) -> Any:
    """Return a method in which nothing is recorded."""

    @functools.wraps(build)
    def building(*arguments: Any, **options: Any) -> Any:
        with without_recording():
            return build(*arguments, **options)

    return building
