"""Processors: what sizes itself by their number must deliver the same.

Up to what the machine has, the child is really confined to so many. Beyond that Python alone
is told so, not the libraries that ask the system themselves.
"""

from __future__ import annotations

import os

import msgspec

from detloader.audits.replay.expectations import Asks
from detloader.audits.replay.job import Job
from detloader.audits.rule import Stage
from detloader.errors import UsageError
from detloader.findings import JsonValue

__all__ = ["ASKS", "SHRINKS", "STAGE", "current", "enter", "values", "vary"]

STAGE = Stage.TOPOLOGY
ASKS = Asks.SAME_ROWS
SHRINKS = True


def current(_job: Job) -> JsonValue:
    """Return how many there are."""
    return os.cpu_count()


def values(_job: Job) -> list[JsonValue]:
    """Take one, and twice as many as there are."""
    return [1, 2 * (os.cpu_count() or 1)]


def vary(job: Job, value: JsonValue) -> Job:
    """Confine the child to so many."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"cpu_count={value} is none: give a positive integer")
    return msgspec.structs.replace(job, cpus=value, hooks={**job.hooks, "cpu_count": value})


def enter(value: int) -> None:
    """Make this process use so many, and Python say so."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:value])
    os.cpu_count = lambda: value
    if hasattr(os, "process_cpu_count"):
        os.process_cpu_count = lambda: value
