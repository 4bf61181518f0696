"""Random numbers of a loader's samples: a stream of its own for each.

They depend on the loader's seed, the epoch and the position in it, and so neither on
threads nor workers, on the number of shards, or on what else was iterated.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

__all__ = ["Purpose", "draw_seed"]


class Purpose(IntEnum):
    """What numbers are drawn for; each purpose has streams of its own."""

    CROP = 1
    AUGMENTATION = 2


def draw_seed(seed: int, epoch: int, purpose: Purpose) -> int:
    """Return what keys a `PositionGenerator` for one epoch, 0 <= seed < 2**64."""
    sequence = np.random.SeedSequence([seed, epoch, purpose])
    return int(sequence.generate_state(1, np.uint64)[0])
