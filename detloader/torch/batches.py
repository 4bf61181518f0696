"""The Torch classes behind `to_torch_loader`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset

from detloader.grain.plan import Plan
from detloader.grain.source import check_iterable

__all__ = ["Batches", "loader_of"]

_TENSOR_KINDS = "biufc"


class Batches(IterableDataset[Any]):
    """Another dataset's elements, as they are.

    Attributes:
        source: the dataset.
    """

    def __init__(self, source: Iterable[Any]) -> None:
        self.source = source

    def __iter__(self) -> Iterator[Any]:
        """Iterate the dataset once more."""
        return iter(self.source)


def loader_of(dataset: Iterable[Any]) -> DataLoader[Any]:
    """Return a loader of the dataset's elements, as tensors.

    Raises:
        UsageError: it cannot be iterated.
    """
    check_iterable(dataset)
    convert = _share_arrays if _gives_own_arrays(dataset) else _copy_arrays
    return DataLoader(Batches(dataset), batch_size=None, collate_fn=convert)


def _gives_own_arrays(dataset: object) -> bool:
    """Tell whether every array was made for its element alone, as stacking does."""
    plan = getattr(dataset, "plan", None)
    return isinstance(plan, Plan) and plan.batch_size is not None


def _share_arrays(element: Any) -> Any:
    return _map_numbers(torch.as_tensor, element)


def _copy_arrays(element: Any) -> Any:
    return _map_numbers(_copy, element)


def _copy(leaf: Any) -> torch.Tensor:
    # Torch knows this machine's byte order alone, and no subclasses.
    return torch.from_numpy(np.array(leaf, leaf.dtype.newbyteorder("=")))


def _map_numbers(function: Callable[[Any], torch.Tensor], tree: Any) -> Any:
    """Replace NumPy's arrays and numbers, in containers of the same types."""
    if isinstance(tree, np.ndarray | np.generic):
        return function(tree) if tree.dtype.kind in _TENSOR_KINDS else tree
    if isinstance(tree, Mapping):
        return _refill(tree, {key: _map_numbers(function, tree[key]) for key in tree})
    if isinstance(tree, tuple | list):
        items = [_map_numbers(function, item) for item in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else type(tree)(items)
    return tree


def _refill(like: Mapping[Any, Any], values: dict[Any, Any]) -> Any:
    try:
        if not isinstance(like, MutableMapping):
            return type(like)(values)  # type: ignore[call-arg]
        # Keeps what its constructor would not be told, such as the factory of a defaultdict.
        filled = copy.copy(like)
        filled.update(values)
    except TypeError:
        return values
    return filled
