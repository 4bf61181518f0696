"""Packages that only a part of detloader needs: imported where it is used, named where it is not.

>>> require("json", extra="none").__name__
'json'
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

from detloader.errors import MissingExtraError

__all__ = ["require"]


@functools.cache
def require(module: str, *, extra: str) -> Any:
    """Import a module of an optional package.

    Args:
        module: its name, such as "tensorflow".
        extra: the extra of detloader that installs it.

    Raises:
        MissingExtraError: the package is not installed; it is an ImportError, too, and
            names the extra. An installed package that fails to import raises its own error.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise
        message = f"{module} is not installed: pip install 'detloader[{extra}]'"
        raise MissingExtraError(message, name=error.name) from error
