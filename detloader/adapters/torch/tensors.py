"""What samples and batches hold, as arrays and numbers: without a copy where that is possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from detloader.manifest.content import UndigestibleError

__all__ = ["as_arrays", "label_of", "labels_of"]

_LABELS = ("label", "labels", "target", "y")
_PAIR = 2

_WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def as_arrays(tree: Any) -> Any:
    """Replace each tensor by an array of its numbers.

    Types that NumPy does not know, such as bfloat16, come as integers of the same bits.

    Raises:
        UndigestibleError: a tensor has no dense storage.
    """
    if isinstance(tree, torch.Tensor):
        return _as_array(tree)
    if isinstance(tree, Mapping):
        return {key: as_arrays(tree[key]) for key in tree}
    if isinstance(tree, list | tuple):
        return [as_arrays(item) for item in tree]
    return tree


def _as_array(tensor: torch.Tensor) -> NDArray[Any]:
    try:
        return tensor.numpy()
    except (RuntimeError, TypeError):
        pass
    try:
        plain = tensor.detach().cpu().resolve_conj().resolve_neg()
        try:
            return plain.numpy()
        except TypeError:
            return plain.contiguous().view(_WORDS[plain.element_size()]).numpy()
    except (RuntimeError, TypeError, LookupError) as error:
        message = f"a tensor ({tensor.dtype}, {tensor.layout}) has no bytes of its own: {error}"
        raise UndigestibleError(message) from error


def labels_of(batch: Any, rows: int) -> list[int] | None:
    """Return the label of each row of a batch of arrays; None where there is none to be seen."""
    labels = _label_part(batch)
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu" and labels.shape == (rows,):
        found: list[int] = labels.tolist()
        return found
    return None


def label_of(sample: Any) -> int | None:
    """Return the label of a sample of arrays; None where there is none to be seen."""
    label = _label_part(sample)
    if isinstance(label, int) and not isinstance(label, bool):
        return label
    if isinstance(label, np.ndarray | np.integer) and label.dtype.kind in "iu" and not label.shape:
        return int(label)
    return None


def _label_part(sample: Any) -> Any:
    """Return the second of a pair, or what is called a label."""
    if isinstance(sample, Mapping):
        return next((sample[name] for name in _LABELS if name in sample), None)
    if isinstance(sample, Sequence) and len(sample) == _PAIR and not isinstance(sample, str):
        return sample[1]
    return None
