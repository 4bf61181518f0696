"""Reading threads: rows must not depend on how many there are."""

from __future__ import annotations

from detloader.audits.replay.expectations import Asks
from detloader.audits.rule import Stage

__all__ = ["ASKS", "NAMES", "SHRINKS", "STAGE", "VALUES"]

STAGE = Stage.TOPOLOGY
ASKS = Asks.SAME_ROWS
NAMES = ("threads", "num_threads", "read_threads", "num_parallel_calls")
VALUES = (1, 4)
SHRINKS = True
