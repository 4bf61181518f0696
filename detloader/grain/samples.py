"""Samples as trees of arrays: copies that may be changed, and stacks."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["map_arrays", "owned", "stack"]

_SCALARS = (int, float, bool, str, bytes, complex, np.generic)

_shape = operator.attrgetter("shape")


def owned(tree: Any) -> Any:
    """Copy the arrays and the containers of a record.

    What comes out may be changed in place without changing the source. Objects of other
    types, such as images or tensors, are handed over as they are.
    """
    if type(tree) is dict:
        return {
            key: value.copy() if _is_plain_array(value) else owned(value)
            for key, value in tree.items()
        }
    if isinstance(tree, np.ndarray):
        # An array of objects copies references alone.
        return copy.deepcopy(tree) if tree.dtype.hasobject else tree.copy()
    if isinstance(tree, tuple | list):
        return _rebuilt(tree, map(owned, tree))
    if isinstance(tree, MutableMapping):
        return _refilled(tree, {key: owned(value) for key, value in tree.items()})
    if isinstance(tree, bytearray | set):
        return tree.copy()
    return tree


def map_arrays(function: Callable[[NDArray[Any]], Any], tree: Any) -> Any:
    """Replace each array of a sample by what the function makes of it."""
    if isinstance(tree, np.ndarray):
        return function(tree)
    if isinstance(tree, tuple | list):
        return _rebuilt(tree, [map_arrays(function, item) for item in tree])
    if isinstance(tree, Mapping):
        return _refilled(tree, {key: map_arrays(function, tree[key]) for key in tree})
    return tree


def stack(samples: Sequence[Any]) -> Any:
    """Stack samples of equal structure, leaf by leaf, along a new first axis.

    The result is that of Grain's batch: `numpy.stack` of the leaves, in containers of the
    first sample's types.

    Raises:
        ValueError: the samples differ in structure or in the shape of a leaf.
    """
    first = samples[0]
    if isinstance(first, np.ndarray):
        return _stack_arrays(samples)
    if isinstance(first, _SCALARS):
        # Arrays in their place would become rows, as far as shapes allow.
        plain = all(issubclass(kind, _SCALARS) for kind in set(map(type, samples)))
        return np.array(samples) if plain else np.stack(samples)
    if isinstance(first, Mapping):
        if not all(isinstance(s, Mapping) and s.keys() == first.keys() for s in samples):
            raise _differ(samples)
        stacked = {key: stack([sample[key] for sample in samples]) for key in first}
        return _refilled(first, stacked)
    if isinstance(first, tuple | list):
        if not all(isinstance(s, tuple | list) and len(s) == len(first) for s in samples):
            raise _differ(samples)
        return _rebuilt(first, map(stack, zip(*samples, strict=True)))
    return np.stack(samples)


def _is_plain_array(value: Any) -> bool:
    return type(value) is np.ndarray and not value.dtype.hasobject


def _stack_arrays(arrays: Sequence[Any]) -> Any:
    if set(map(type, arrays)) != {np.ndarray} or not arrays[0].ndim:
        return np.stack(arrays)
    shapes = set(map(_shape, arrays))
    if len(shapes) > 1:
        return np.stack(arrays)
    return np.concatenate(arrays).reshape(len(arrays), *shapes.pop())


def _rebuilt(like: tuple[Any, ...] | list[Any], items: Iterable[Any]) -> Any:
    kind = type(like)
    return kind(*items) if hasattr(like, "_fields") else kind(items)


def _refilled(like: Mapping[Any, Any], values: dict[Any, Any]) -> Any:
    kind = type(like)
    if kind is dict:
        return values
    if not isinstance(like, MutableMapping):
        return kind(values)  # type: ignore[call-arg]
    # Keeps what its constructor would not be told, such as the factory of a defaultdict.
    filled = copy.copy(like)
    filled.update(values)
    return filled


def _differ(samples: Sequence[Any]) -> ValueError:
    outlines = list(dict.fromkeys(_outline(sample) for sample in samples))
    return ValueError(f"the samples differ in structure: {' and '.join(outlines[:2])}")


def _outline(sample: Any) -> str:
    if isinstance(sample, Mapping):
        return f"keys {', '.join(map(repr, sample))}"
    kind = type(sample).__name__
    return f"{kind} of {len(sample)}" if isinstance(sample, tuple | list) else kind
