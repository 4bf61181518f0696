"""Worker processes: rows must not depend on how many there are."""

from __future__ import annotations

from detloader.audits.replay.expectations import Asks
from detloader.audits.rule import Stage

__all__ = ["ASKS", "NAMES", "SHRINKS", "STAGE", "VALUES"]

STAGE = Stage.TOPOLOGY
ASKS = Asks.SAME_ROWS
NAMES = ("workers", "num_workers", "worker_count", "n_workers")
VALUES = (0, 1, 2)
SHRINKS = True
