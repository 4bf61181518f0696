"""Datasets that a program hands to a concrete function, which was traced beforehand."""

from __future__ import annotations

import functools
from types import ModuleType

from detloader.interception.arguments import giving_twins
from detloader.interception.changes import Changes

__all__ = ["MODULE", "install"]

MODULE = "tensorflow.python.eager.polymorphic_function.concrete_function"


def install(module: ModuleType, changes: Changes) -> None:
    """Change the call of a concrete function: what it was traced for is no twin's kind."""
    wrapped = functools.partial(giving_twins, takes_distributed=lambda _: False)
    changes.replace(module.ConcreteFunction, "__call__", wrapped)
