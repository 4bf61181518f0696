"""Samples as trees of arrays: copies that may be changed, and stacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["owned", "stack"]

_SCALARS = (int, float, bool, str, bytes, complex, np.generic)


def owned(tree: Any) -> Any:
    """Copy the arrays and the plain containers of a record.

    What comes out may be changed in place without changing the source. Objects of other
    types, such as images or tensors, are handed over as they are.
    """
    kind = type(tree)
    if kind is dict:
        return {
            key: value.copy() if type(value) is np.ndarray else owned(value)
            for key, value in tree.items()
        }
    if isinstance(tree, np.ndarray):
        return tree.copy()
    if kind is list:
        return [owned(item) for item in tree]
    if kind is tuple:
        return tuple(owned(item) for item in tree)
    return tree


def stack(samples: Sequence[Any]) -> Any:
    """Stack samples of equal structure, leaf by leaf, along a new first axis.

    The result is that of Grain's batch; plain containers, arrays and numbers take a
    short way to it, all else goes through Grain itself.

    Raises:
        ValueError: the samples differ in structure or in the shape of a leaf.
    """
    first = samples[0]
    kind = type(first)
    if kind is np.ndarray:
        return _stack_arrays(samples)
    if isinstance(first, _SCALARS):
        return np.stack(samples)
    if kind is dict and all(
        type(other) is dict and other.keys() == first.keys() for other in samples
    ):
        return {key: stack([sample[key] for sample in samples]) for key in first}
    if kind in {tuple, list} and all(
        type(other) is kind and len(other) == len(first) for other in samples
    ):
        return kind([stack(column) for column in zip(*samples, strict=True)])
    import grain

    return grain.MapDataset.source(samples).batch(len(samples))[0]


def _stack_arrays(arrays: Sequence[Any]) -> Any:
    first = arrays[0]
    shape, dtype = first.shape, first.dtype
    for array in arrays:
        if type(array) is not np.ndarray or array.shape != shape or array.dtype != dtype:
            return np.stack(arrays)
    if not shape:
        return np.stack(arrays)
    return np.concatenate(arrays).reshape(len(arrays), *shape)
