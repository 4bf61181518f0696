"""Versions of Python: python=3.11,3.12 must deliver the same.

Each gets an environment of its own, with the packages that the factory loads in the versions
that are here. There the small recorder records, and so it does here, to compare with.
"""

from __future__ import annotations

import platform

import msgspec

from detloader.audits.replay.expectations import Asks
from detloader.audits.replay.job import Job
from detloader.audits.rule import Stage
from detloader.findings import JsonValue

__all__ = ["ASKS", "BY_DEFAULT", "STAGE", "TEXT", "current", "vary"]

STAGE = Stage.VERSION
ASKS = Asks.SAME_ROWS
# It takes an environment for each value.
BY_DEFAULT = False
TEXT = True


def current(_job: Job) -> JsonValue:
    """Return the version that runs this."""
    return platform.python_version()


def vary(job: Job, value: JsonValue) -> Job:
    """Run another Python."""
    return msgspec.structs.replace(job, versions={**(job.versions or {}), "python": str(value)})
