"""Deterministic mode: order that is only promised, not kept, shows where it is given up."""

from __future__ import annotations

from detloader.audits.replay.expectations import Asks
from detloader.audits.rule import Stage

__all__ = ["ASKS", "NAMES", "STAGE", "VALUES"]

STAGE = Stage.RACE
ASKS = Asks.SAME_ROWS
NAMES = ("deterministic", "in_order", "is_deterministic")
VALUES = (True, False)
