"""`set_random_seed`: one seed for the global generators of a program."""

from __future__ import annotations

import random
import sys
from numbers import Integral

from detloader.errors import UsageError

__all__ = ["set_random_seed"]

_SEEDS = 2**32


def set_random_seed(seed: int | None = None) -> int:
    """Seed the global generators of Python, NumPy and the frameworks in use.

    Keras is asked to seed itself and its backend where it is imported; TensorFlow and Torch
    are seeded where they are. A framework that is imported later is not. The published
    function imports Keras for it, and draws the seed that it was not given in the same way:
    from `random`, 0 to 2**16.

    Streams of `to_grain` do not need it, nor do generators of IDs with a `seed` or `rng` of
    their own: what they draw nobody else can move.

    Args:
        seed: 0 <= seed < 2**32, 0 among them; None takes one at random.

    Returns:
        The seed.

    Raises:
        UsageError: the seed is no such integer.
    """
    if seed is None:
        seed = random.randint(0, 2**16)  # noqa: S311 - an order, not a secret
    _check(seed)
    import numpy as np

    seed = int(seed)
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the global generator is what is asked for
    if (keras := sys.modules.get("keras")) is not None:
        keras.utils.set_random_seed(seed)
    if (tensorflow := sys.modules.get("tensorflow")) is not None:
        tensorflow.random.set_seed(seed)
    if (torch := sys.modules.get("torch")) is not None:
        torch.manual_seed(seed)
    return seed


def _check(seed: object) -> None:
    is_integer = isinstance(seed, Integral) and not isinstance(seed, bool)
    if not is_integer or not 0 <= int(seed) < _SEEDS:  # type: ignore[call-overload]  # it is one
        raise UsageError(f"seed must be an integer from 0 to 2**32 - 1 or None, not {seed!r}")
