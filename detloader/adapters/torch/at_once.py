"""Which data sets read the samples of a batch at once, and which of them only seem to.

Torch's own `Subset` and `StackDataset` are asked for a whole batch, and pass that on: where
what they stand on is read one by one, so are they.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.utils.data import StackDataset, Subset

__all__ = ["looking_on", "reads_at_once"]


def reads_at_once(dataset: Any) -> bool:
    """Tell whether nobody outside sees when one sample of a batch ends and the next begins."""
    if _is_own(dataset, Subset):
        return reads_at_once(dataset.dataset)
    if _is_own(dataset, StackDataset):
        return any(map(reads_at_once, _stacked(dataset).values()))
    return callable(getattr(dataset, "__getitems__", None))


def looking_on(dataset: Any, look: Callable[[], None]) -> Any:
    """Return what reads as a data set does, by Torch's own code, and looks after each read.

    Args:
        dataset: one that only seems to read at once.
        look: called when one of the innermost data sets has been read: where these are
            stacked, for all samples of the first, then for all samples of the second.
    """
    if _is_own(dataset, Subset):
        return _with(dataset, {"dataset": looking_on(dataset.dataset, look)})
    if _is_own(dataset, StackDataset):
        parts = {name: looking_on(part, look) for name, part in _stacked(dataset).items()}
        is_named = isinstance(dataset.datasets, dict)
        return _with(dataset, {"datasets": parts if is_named else tuple(parts.values())})
    return _LookedOn(dataset, look)


def _is_own(dataset: Any, kind: type[Any]) -> bool:
    """Tell whether a data set is read as Torch's own class is, and not as one derived from it."""
    at_once = getattr(dataset, "__getitems__", None)
    return getattr(at_once, "__func__", None) is kind.__getitems__


def _stacked(dataset: Any) -> dict[Any, Any]:
    parts = dataset.datasets
    return dict(parts if isinstance(parts, dict) else enumerate(parts))


def _with(dataset: Any, attributes: dict[str, Any]) -> Any:
    """Copy a data set, for one batch: its user may change it before the next."""
    twin = object.__new__(type(dataset))
    vars(twin).update({**vars(dataset), **attributes})
    return twin


class _LookedOn:
    def __init__(self, dataset: Any, look: Callable[[], None]) -> None:
        self._dataset = dataset
        self._look = look

    def __getitem__(self, index: Any) -> Any:
        sample = self._dataset[index]
        self._look()
        return sample
