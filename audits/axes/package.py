"""Versions of a package: NAME=V1,V2, such as grain=0.2.12,0.2.13, must deliver the same.

Each version gets an environment of its own, with the other packages that the factory loads as
they are here. There the small recorder records, and so it does here, to compare with.
"""

from __future__ import annotations

import msgspec

from detloader.audits.replay.expectations import Asks
from detloader.audits.replay.job import Job
from detloader.audits.rule import Stage
from detloader.errors import UsageError
from detloader.findings import JsonValue

__all__ = ["ASKS", "BY_DEFAULT", "STAGE", "TEXT", "vary"]

STAGE = Stage.VERSION
ASKS = Asks.SAME_ROWS
# It takes an environment for each value.
BY_DEFAULT = False
TEXT = True


def vary(job: Job, value: JsonValue, name: str | None = None) -> Job:
    """Put another version of a package in place of the one that is here."""
    if name is None:
        raise UsageError("package is no package's name: write such as --vary grain=0.2.12")
    return msgspec.structs.replace(job, versions={**(job.versions or {}), name: str(value)})
