"""Tensors as what has bytes in this process's memory, wherever they are, whatever they hold."""

from __future__ import annotations

import importlib
import sys
from typing import Any

__all__ = ["on_host"]


def on_host(tree: Any) -> Any:
    """Replace Torch's tensors, and TensorFlow's of text; all else is left to NumPy.

    By themselves, those on a device, those with a gradient and those of bfloat16 are no arrays,
    and text is an array of objects.

    Raises:
        UndigestibleError: a tensor has no dense storage.
    """
    # By their names, as all adapters are: nothing here depends on either.
    if "tensorflow" in sys.modules:
        tree = importlib.import_module("detloader.adapters.tensorflow.tensors").as_text(tree)
    if "torch" in sys.modules:
        tree = importlib.import_module("detloader.adapters.torch.tensors").as_arrays(tree)
    return tree
