"""Which seed Keras's `fit` shuffles the batches of a `PyDataset` by: with Python's generator."""

from __future__ import annotations

import random
from typing import Any

from keras.src.trainers.data_adapters.py_dataset_adapter import PyDatasetAdapter
from keras.src.utils import rng_utils

__all__ = ["declare_shuffled_batches"]

_WORDS = 624
"""Words that the generator makes at a time."""

_MOST = 64
"""Times that it is looked whether these are those of a seed."""


def declare_shuffled_batches(adapter: Any, count: int | None) -> dict[str, object]:
    """Return the declared fields that tell how batches are shuffled; none where they are not.

    The seed is that of `keras.utils.set_random_seed`, if the generator is still in its stream.
    Where it stands there is another order, too.

    Args:
        adapter: what Keras made of the data that it was given.
        count: how many batches there are; None where they do not end.
    """
    if not isinstance(adapter, PyDatasetAdapter) or not adapter.shuffle or count is None:
        return {}
    config: dict[str, object] = {"shuffled_elements": count}
    seed = rng_utils.get_random_seed()
    drawn = None if seed is None else _drawn_since(seed)
    if drawn is None:
        return {"config": config}
    return {"seed": seed, "config": config | {"draws_before_fit": drawn}}


def _drawn_since(seed: int) -> int | None:
    """Return how many words Python's generator took of a seed; None where it took none of it."""
    *words, place = random.getstate()[1]
    generator = random.Random(seed)  # noqa: S311 - Keras chose it
    for turn in range(_MOST):
        if [*generator.getstate()[1][:-1]] == words:
            return (turn - 1) * _WORDS + place
        generator.getrandbits(32 * _WORDS)
    return None
