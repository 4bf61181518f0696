"""What the orders of a loader are seeded with.

It is told as they are begun, and not before: programs seed Torch, or a generator, when they
have made their loaders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import torch
from torch.utils.data import DataLoader

from detloader.adapters.torch.declared import shuffle_of
from detloader.adapters.torch.samplers import deciding_sampler, draws_from_torch

__all__ = ["OrderSeeds", "seed_of_order"]


def seed_of_order(loader: DataLoader[Any]) -> int | None:
    """Return the seed that the next order would come of; None where nobody says.

    That is a seed of the sampler's own, or that of the generator that it draws from.
    """
    sampler = deciding_sampler(loader)
    if not shuffle_of(loader):
        return None
    if isinstance(seed := getattr(sampler, "seed", None), int):
        return seed
    if not draws_from_torch(sampler):
        return None
    generator = getattr(sampler, "generator", None)
    return int(torch.initial_seed() if generator is None else generator.initial_seed())


class OrderSeeds:
    """Declares the seed of a run's orders while it is one, and known."""

    def __init__(self, declare: Callable[..., None]) -> None:
        """Take the function that declares fields of the run."""
        self._declare = declare
        self._known: set[int | None] = set()

    def note(self, seeds: Iterable[int | None]) -> None:
        """Hear of the seeds of orders; None where nobody knows it."""
        known = len(self._known)
        self._known.update(seeds)
        if len(self._known) == known:
            return
        told = next(iter(self._known)) if len(self._known) == 1 else None
        self._declare(seed=msgspec.UNSET if told is None else told)
