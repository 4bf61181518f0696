"""What a stream of Hugging Face's says of its order: whether it shuffles, and by which seed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import datasets
import numpy as np

from detloader.adapters.walk import each_once

__all__ = ["order_of"]

GIVEN_BITS = 64
"""Bits that a seed has at most which a person, or a program, chose."""

ENOUGH_SHARDS = 10
"""So many are not put into one order twice by chance: 10! > 1e6."""


def order_of(stream: datasets.IterableDataset) -> dict[str, Any]:
    """Return the declared fields that the steps of a stream tell: `shuffle`, `seed`, `seed_used`.

    What they do not tell is left out: of several seeds none is that of the order.
    """
    steps = [*each_once(stream._ex_iterable, _inputs)]  # noqa: SLF001  # nothing else says so
    about: dict[str, Any] = {"shuffle": True} if _is_shuffled(stream, steps) else {}
    seeds = {_seed_of(step.generator) for step in steps if _draws(step)}
    drawn = [seed for seed in seeds if seed is not None and seed.bit_length() > GIVEN_BITS]
    if drawn:
        about["seed"] = None  # NumPy drew it, for nobody gave one
    elif len(seeds) == 1 and None not in seeds:
        about["seed"] = seeds.pop()
    if drawn and len(seeds) == 1:
        about["seed_used"] = str(drawn[0])
    return about


def _inputs(step: Any) -> Iterable[Any]:
    inner = getattr(step, "ex_iterable", None)
    return getattr(step, "ex_iterables", []) if inner is None else [inner]


def _is_shuffled(stream: datasets.IterableDataset, steps: Iterable[Any]) -> bool:
    """Tell whether records are mixed, or enough shards, so that no two orders are one by chance."""
    shuffles = [step for step in steps if "Shuffled" in type(step).__name__]
    if any(getattr(step, "buffer_size", 2) > 1 for step in shuffles):
        return True
    return bool(shuffles) and stream.n_shards >= ENOUGH_SHARDS


def _draws(step: Any) -> bool:
    return isinstance(getattr(step, "generator", None), np.random.Generator)


def _seed_of(generator: np.random.Generator) -> int | None:
    """Return the seed that makes such a generator; None where it was made or used otherwise."""
    entropy: Any = getattr(generator.bit_generator.seed_seq, "entropy", None)
    if not isinstance(entropy, int | np.integer):
        return None
    fresh = np.random.default_rng(int(entropy)).bit_generator
    return int(entropy) if fresh.state == generator.bit_generator.state else None
