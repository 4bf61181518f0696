"""Stream mode: one global schedule, or a finite part for each worker; no record may be lost."""

from __future__ import annotations

from detloader.audits.replay.expectations import Asks
from detloader.audits.rule import Stage

__all__ = ["ASKS", "NAMES", "STAGE", "VALUES"]

STAGE = Stage.PARTITION
ASKS = Asks.SAME_SET
NAMES = ("stream_mode",)
VALUES = ("global", "finite")
