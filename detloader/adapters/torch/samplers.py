"""What a sampler says of itself: whether it shuffles, and which records it is to give."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import BatchSampler, DataLoader

from detloader.adapters.torch.reading import as_indices

__all__ = [
    "count_of",
    "deciding_sampler",
    "draws_from_torch",
    "gives_lists",
    "is_choosing",
    "is_list",
    "orderer_of",
    "outer_sampler",
    "ranks_of",
    "shuffles",
]

_SHUFFLES = {
    "SequentialSampler": False,
    "RandomSampler": True,
    "SubsetRandomSampler": True,
    "WeightedRandomSampler": True,
}
"""Whether samplers shuffle, by their names, for other packages have their own of that name."""


def outer_sampler(loader: DataLoader[Any]) -> Any:
    """Return the sampler that the loader itself asks."""
    # Beside a batch sampler of the user's own, `loader.sampler` is a dummy.
    return loader.sampler if loader.batch_sampler is None else loader.batch_sampler


def deciding_sampler(loader: DataLoader[Any]) -> Any:
    """Return the sampler that decides on the order of records."""
    sampler = outer_sampler(loader)
    while isinstance(sampler, BatchSampler):
        # Those that deal the batches of another one, as accelerate's do, have no `sampler`.
        inner = getattr(sampler, "sampler", getattr(sampler, "batch_sampler", None))
        if inner is None:
            return sampler
        sampler = inner
    return sampler


def ranks_of(loader: DataLoader[Any]) -> int | None:
    """Return how many ranks the samplers deal to; None where they deal to none."""
    dealers = (deciding_sampler(loader), "num_replicas"), (outer_sampler(loader), "num_processes")
    told = (getattr(sampler, name, None) for sampler, name in dealers)
    return next((ranks for ranks in told if isinstance(ranks, int)), None)


def orderer_of(sampler: Any) -> str:
    """Return the name of the class that makes a sampler's order: itself, or one it derives from."""
    kinds = type(sampler).__mro__
    return next((kind.__name__ for kind in kinds if "__iter__" in vars(kind)), "")


def gives_lists(loader: DataLoader[Any]) -> bool:
    """Tell whether the loader is seen to ask for a list of records at once."""
    outer = outer_sampler(loader)
    return isinstance(outer, BatchSampler) or _holds_lists(outer)


def shuffles(sampler: Any) -> bool | None:
    """Tell whether a sampler shuffles; None where it does not say, or has an order of its own."""
    if isinstance(told := getattr(sampler, "shuffle", None), bool):
        return told
    return _SHUFFLES.get(orderer_of(sampler))


def draws_from_torch(sampler: Any) -> bool:
    """Tell whether a sampler draws its order from its generator, else from Torch's global one."""
    return _SHUFFLES.get(orderer_of(sampler), False)


def is_choosing(loader: DataLoader[Any], sampler: Any, source_size: int | None) -> bool:
    """Tell whether a sampler may leave records of the source out because its user means it.

    One that gives as many as there are is taken to give them all, unless it shows that it does
    not: what is lost over it is to be found.
    """
    if any(hasattr(sampler, name) for name in ("weights", "num_replicas")):
        return False
    if "RandomSampler" in _names(sampler):
        return False  # any of them may come, however few are drawn
    if count_of(loader, sampler) != source_size:
        return True
    chosen = _chosen(loader, sampler)
    return chosen is not None and len(set(as_indices(chosen))) < len(chosen)


def count_of(loader: DataLoader[Any], sampler: Any) -> int | None:
    """Return how many records a sampler gives in an epoch; None where it does not say."""
    if isinstance(count := getattr(sampler, "num_samples", None), int):
        return count
    if (chosen := _chosen(loader, sampler)) is not None:
        return len(chosen)
    if isinstance(sampler, BatchSampler):
        return None  # its length is that of batches
    if _may_give_batches(loader) and not _SHUFFLES.keys() & set(_names(sampler)):
        return None  # as it may be here
    try:
        return len(sampler)
    except (TypeError, NotImplementedError):
        return None


def _chosen(loader: DataLoader[Any], sampler: Any) -> Sequence[Any] | None:
    """Return the indices that a sampler was given; None where it makes them itself."""
    given: Any = sampler.indices if "SubsetRandomSampler" in _names(sampler) else sampler
    if isinstance(given, np.ndarray | torch.Tensor):
        given = given.tolist()
    if not isinstance(given, list | tuple | range):
        return None
    if _may_give_batches(loader) and _holds_lists(given):
        return list(itertools.chain(*given))
    return given


def is_list(index: object) -> bool:
    """Tell whether a sampler asks for many records at once."""
    if isinstance(index, np.ndarray | torch.Tensor):
        return index.ndim > 0
    return isinstance(index, list)


def _holds_lists(sampler: Any) -> bool:
    return isinstance(sampler, list | tuple) and bool(sampler) and is_list(sampler[0])


def _may_give_batches(loader: DataLoader[Any]) -> bool:
    """Tell whether what the deciding sampler gives may be batches of indices."""
    return loader.batch_size is None and not isinstance(outer_sampler(loader), BatchSampler)


def _names(sampler: Any) -> list[str]:
    return [kind.__name__ for kind in type(sampler).__mro__]
