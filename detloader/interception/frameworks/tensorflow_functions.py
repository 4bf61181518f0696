"""Datasets that a program hands to a `tf.function`, which iterates them by itself."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from detloader.interception.arguments import giving_twins
from detloader.interception.changes import Changes

__all__ = ["MODULE", "install"]

MODULE = "tensorflow.python.eager.polymorphic_function.polymorphic_function"


def install(module: ModuleType, changes: Changes) -> None:
    """Change the call of a function."""
    wrapped = functools.partial(giving_twins, takes_distributed=_has_no_signature)
    changes.replace(module.Function, "__call__", wrapped)


def _has_no_signature(function: Any) -> bool:
    """Tell of a function whether it is traced for whatever it is given.

    A signature may name the kind of a distributed dataset, which the twin's is not.
    """
    return function.input_signature is None
