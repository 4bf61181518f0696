"""Tensors as arrays in this process's memory, wherever they are and whatever they hold."""

from __future__ import annotations

import importlib
import sys
from typing import Any

__all__ = ["on_host"]


def on_host(tree: Any) -> Any:
    """Replace Torch's tensors; all else is left to NumPy.

    By themselves, those on a device, those with a gradient and those of bfloat16 are no arrays.

    Raises:
        UndigestibleError: a tensor has no dense storage.
    """
    if "torch" not in sys.modules:
        return tree
    # By its name, as all adapters are: nothing here depends on Torch.
    return importlib.import_module("detloader.adapters.torch.tensors").as_arrays(tree)
