"""Batches as tensors of the framework in use: `convert_to_tensor` of the Dataloader."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detloader.errors import MissingExtraError, UsageError

__all__ = ["TensorConverter", "tensor_converter"]

_INSTALLED_BY = {
    "tensorflow": "pip install 'detloader[tensorflow]'",
    "torch": "pip install 'detloader[torch]'",
    "jax": "pip install jax",
}


def tensor_converter() -> TensorConverter:
    """Choose the framework whose tensors the Dataloader gives.

    The first of these that there is:

    1. the one that the environment variable KERAS_BACKEND names: tensorflow, torch, jax or
       numpy;
    2. the backend of Keras, if this process has imported it;
    3. of tensorflow, torch and jax, in this order, the first that this process has imported;
    4. in the same order, the first that is installed;
    5. NumPy.

    No framework is imported before the first batch is converted.

    Raises:
        UsageError: KERAS_BACKEND names none of the four.
        MissingExtraError: it names one that is not installed.
    """
    named = os.environ.get("KERAS_BACKEND")
    if named:
        return TensorConverter(_checked(named))
    return TensorConverter(
        _backend_of_keras() or _first_imported() or _first_installed() or "numpy"
    )


@dataclass(frozen=True)
class TensorConverter:
    """Makes tensors, on the CPU, of float32 arrays; it can be pickled.

    Attributes:
        framework: tensorflow, torch, jax or numpy.
    """

    framework: str

    def __call__(self, batch: NDArray[np.float32]) -> Any:
        """Convert a batch; torch and jax may go on using its memory, and NumPy gets it as it is."""
        if self.framework == "numpy":
            return batch
        framework = importlib.import_module(self.framework)
        if self.framework == "torch":
            return framework.as_tensor(batch, device="cpu")
        if self.framework == "jax":
            return framework.device_put(batch, framework.devices("cpu")[0])
        with framework.device("CPU:0"):
            return framework.convert_to_tensor(batch)


def _checked(name: str) -> str:
    if name == "numpy":
        return name
    if name not in _INSTALLED_BY:
        known = ", ".join([*_INSTALLED_BY, "numpy"])
        raise UsageError(f"KERAS_BACKEND is {name!r}; known here are {known}")
    if not _is_installed(name):
        message = f"KERAS_BACKEND is {name!r}, but {name} is not installed: {_INSTALLED_BY[name]}"
        raise MissingExtraError(message, name=name)
    return name


def _backend_of_keras() -> str | None:
    keras = sys.modules.get("keras")
    name = keras.config.backend() if keras is not None else None
    return name if name in _INSTALLED_BY or name == "numpy" else None


def _first_imported() -> str | None:
    return next((name for name in _INSTALLED_BY if sys.modules.get(name)), None)


def _first_installed() -> str | None:
    return next(filter(_is_installed, _INSTALLED_BY), None)


def _is_installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None
