"""Text in TensorFlow's tensors, which NumPy has as objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

__all__ = ["as_text"]


def as_text(tree: Any) -> Any:
    """Replace each tensor of text by bytes, or by lists of them; all else stays."""
    if isinstance(tree, tf.Tensor):
        return _as_lists(tree.numpy()) if tree.dtype == tf.string else tree
    if isinstance(tree, Mapping):
        return {key: as_text(tree[key]) for key in tree}
    if isinstance(tree, list | tuple):
        return [as_text(item) for item in tree]
    return tree


def _as_lists(text: Any) -> Any:
    return text if isinstance(text, bytes) else text.tolist()
