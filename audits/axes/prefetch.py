"""Elements made ahead: rows must not depend on how many there are."""

from __future__ import annotations

from detloader.audits.replay.expectations import Asks
from detloader.audits.rule import Stage

__all__ = ["ASKS", "NAMES", "SHRINKS", "STAGE", "VALUES"]

STAGE = Stage.TOPOLOGY
ASKS = Asks.SAME_ROWS
NAMES = (
    "prefetch",
    "prefetch_factor",
    "prefetch_buffer_size",
    "worker_buffer_size",
    "per_worker_buffer_size",
)
VALUES = (1, 4)
SHRINKS = True
