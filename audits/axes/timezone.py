"""Time zone: what reads local times depends on it."""

from __future__ import annotations

import msgspec

from detloader.audits.replay.expectations import Asks
from detloader.audits.replay.job import Job
from detloader.audits.rule import Stage
from detloader.findings import JsonValue

__all__ = ["ASKS", "STAGE", "VALUES", "vary"]

STAGE = Stage.SOURCE_ORDER
ASKS = Asks.SAME_ROWS
# As POSIX writes them, without a table of time zones: half a day behind, and more than that ahead.
VALUES = ("GMT+12", "GMT-14")


def vary(job: Job, value: JsonValue) -> Job:
    """Set the variable that the C library reads."""
    return msgspec.structs.replace(job, variables={**job.variables, "TZ": str(value)})
