"""What a loader and its samplers say of themselves."""

from __future__ import annotations

import contextlib
import multiprocessing
import threading
from typing import Any

import torch
from torch.utils.data import BatchSampler, DataLoader, IterableDataset

from detloader.adapters import find_order
from detloader.adapters.torch.samplers import (
    count_of,
    deciding_sampler,
    is_choosing,
    orderer_of,
    outer_sampler,
    ranks_of,
    shuffles,
)

__all__ = ["declared_of", "epoch_holder", "has_threads", "seed_of_epoch", "shuffle_of"]


def declared_of(loader: DataLoader[Any]) -> dict[str, Any]:
    """Return the fields of `Declared` that the loader's own objects tell."""
    declared: dict[str, Any] = {
        "loader": type(loader).__qualname__,
        "workers": loader.num_workers,
        "deterministic": not loader.num_workers or getattr(loader, "in_order", True),
        "config": {
            "collate": getattr(loader.collate_fn, "__qualname__", type(loader.collate_fn).__name__),
            "persistent_workers": loader.persistent_workers,
            "prefetch_factor": loader.prefetch_factor,
        },
    }
    if loader.num_workers:
        declared["start_method"] = _start_method(loader)
    if isinstance(loader.dataset, IterableDataset):
        batches = {"batch_size": loader.batch_size, "drop_remainder": loader.drop_last}
        return declared | batches | find_order(loader.dataset)
    sampler = deciding_sampler(loader)
    order = _order_of(loader)
    declared["config"] |= {"sampler": type(sampler).__name__}
    if hasattr(sampler, "num_replicas") and getattr(sampler, "drop_last", None) is True:
        declared["config"] |= {"drop_uneven_ranks": True}
    if is_choosing(loader, sampler, order.get("source_size")):
        declared["config"] |= {"filter": type(sampler).__name__}
    return declared | _batches_of(loader) | order


def has_threads(loader: DataLoader[Any]) -> bool:
    """Tell whether workers are threads of this process, as some packages make them be."""
    process = getattr(loader.multiprocessing_context, "Process", None)
    return isinstance(process, type) and issubclass(process, threading.Thread)


def epoch_holder(loader: DataLoader[Any]) -> Any | None:
    """Return what is told the epoch: a sampler, the outermost first, or the data set; or None."""
    inner = getattr(loader.batch_sampler, "sampler", None), deciding_sampler(loader)
    for holder in (loader.batch_sampler, *inner, loader.sampler, loader.dataset):
        if hasattr(holder, "set_epoch") and isinstance(getattr(holder, "epoch", None), int):
            return holder
    return None


def shuffle_of(loader: DataLoader[Any]) -> bool | None:
    """Tell whether a loader shuffles; None where nobody says."""
    outer = outer_sampler(loader)
    if isinstance(outer, BatchSampler) and orderer_of(outer) != "BatchSampler":
        return None  # its batches may come in any order
    return shuffles(deciding_sampler(loader))


def seed_of_epoch(sampler: object) -> int | None:
    """Return what a sampler seeds its next order with; None where it does not say."""
    seed, epoch = getattr(sampler, "seed", None), getattr(sampler, "epoch", None)
    return seed + epoch if isinstance(seed, int) and isinstance(epoch, int) else None


def _start_method(loader: DataLoader[Any]) -> str:
    if has_threads(loader):
        return "thread"
    if loader.multiprocessing_context is not None:
        context: Any = loader.multiprocessing_context
        return str(context.get_start_method())
    # Asked otherwise, the answer would be settled, and the program could not set its own.
    chosen = multiprocessing.get_start_method(allow_none=True)
    return chosen or multiprocessing.get_all_start_methods()[0]


def _batches_of(loader: DataLoader[Any]) -> dict[str, Any]:
    outer = outer_sampler(loader)
    if isinstance(outer, BatchSampler):
        told = {"batch_size": _size_of(outer), "drop_remainder": getattr(outer, "drop_last", None)}
        return {name: value for name, value in told.items() if isinstance(value, int)}
    return {"batch_size": None} if loader.batch_sampler is None else {}


def _size_of(batches: Any) -> Any:
    size = getattr(batches, "batch_size", None)
    if getattr(batches, "split_batches", False) is True:
        return size // batches.num_processes  # accelerate deals a part of each batch
    return size


def _order_of(loader: DataLoader[Any]) -> dict[str, Any]:
    sampler = deciding_sampler(loader)
    order: dict[str, Any] = {}
    with contextlib.suppress(TypeError, NotImplementedError):
        order["source_size"] = len(loader.dataset)  # type: ignore[arg-type]
    shuffle = shuffle_of(loader)
    if shuffle is not None:
        order["shuffle"] = shuffle
    if isinstance(replacement := getattr(sampler, "replacement", None), bool):
        order["replacement"] = replacement
    return order | _amounts_of(loader, sampler, order.get("source_size"))


def _amounts_of(loader: DataLoader[Any], sampler: Any, source_size: int | None) -> dict[str, Any]:
    amounts: dict[str, Any] = {}
    ranks = ranks_of(loader)
    if ranks is not None:
        amounts["world_size"] = ranks
    elif (count := count_of(loader, sampler)) is not None and count != source_size:
        amounts["num_samples"] = count
    weights = getattr(sampler, "weights", None)
    if weights is not None:
        amounts["weights"] = torch.as_tensor(weights, dtype=torch.double).numpy(force=True)
    return amounts
