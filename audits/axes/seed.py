"""Seed: another seed must give another order or other draws, or it has no effect."""

from __future__ import annotations

from detloader.audits.replay.expectations import Asks
from detloader.audits.rule import Stage

__all__ = ["ASKS", "BY_DEFAULT", "NAMES", "STAGE", "VALUES"]

STAGE = Stage.SEED
ASKS = Asks.OTHER_ROWS
# A loader that neither shuffles nor draws may well take a seed.
BY_DEFAULT = False
NAMES = ("seed", "random_seed", "random_state", "shuffle_seed", "data_seed")
VALUES = (1, 2)
