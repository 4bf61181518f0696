"""Time zone: what reads local times depends on it.

A value is a name that this system knows, such as Europe/Berlin, or one as POSIX writes them. The C
library takes any other for Greenwich's, so that it would vary nothing.
"""

from __future__ import annotations

import re
import zoneinfo

import msgspec

from detloader.audits.replay.expectations import Asks
from detloader.audits.replay.job import Job
from detloader.audits.rule import Stage
from detloader.errors import UsageError
from detloader.findings import JsonValue

__all__ = ["ASKS", "STAGE", "VALUES", "vary"]

STAGE = Stage.SOURCE_ORDER
ASKS = Asks.SAME_ROWS
# As POSIX writes them, without a table of time zones: half a day behind, and more than that ahead.
VALUES = ("GMT+12", "GMT-14")

_POSIX = re.compile(r"([A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)[+-]?\d{1,2}(:\d\d){0,2}([A-Za-z<].*)?")


def vary(job: Job, value: JsonValue) -> Job:
    """Set the variable that the C library reads."""
    name = str(value)
    if not _POSIX.fullmatch(name) and name not in zoneinfo.available_timezones():
        raise UsageError(f"timezone={name} is none here: name one such as GMT+12 or Europe/Berlin")
    return msgspec.structs.replace(job, variables={**job.variables, "TZ": name})
