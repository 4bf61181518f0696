"""Start method: how worker processes begin, and what they inherit, must not change rows.

Where the factory takes none, the method is made the default of `multiprocessing`.
"""

from __future__ import annotations

import multiprocessing
import sys

import msgspec

from detloader.audits.axes import workers
from detloader.audits.replay.expectations import Asks
from detloader.audits.replay.job import Job
from detloader.audits.rule import Stage
from detloader.errors import UsageError
from detloader.findings import JsonValue

__all__ = ["ASKS", "NAMES", "STAGE", "current", "enter", "values", "vary"]

STAGE = Stage.TOPOLOGY
ASKS = Asks.SAME_ROWS

NAMES = ("start_method", "multiprocessing_context", "mp_context")
_DEFAULT = "spawn" if sys.platform == "darwin" else "fork"


def current(job: Job) -> JsonValue:
    """Return what the factory is given, or else the system's default."""
    name = job.argument(NAMES)
    return (job.value(name) if name else None) or _DEFAULT


def values(job: Job) -> list[JsonValue]:
    """Try all methods, where there may be a process to start."""
    if job.argument(NAMES) is None and job.argument(workers.NAMES) is None:
        return []
    return [method for method in ("fork", "spawn") if method in _methods()]


def vary(job: Job, value: JsonValue) -> Job:
    """Tell the factory, or else `multiprocessing`."""
    if value not in _methods():
        raise UsageError(f"start_method={value} is none: name {' or '.join(_methods())}")
    name = job.argument(NAMES)
    if name is None:
        return msgspec.structs.replace(job, hooks={**job.hooks, "start_method": value})
    return msgspec.structs.replace(job, arguments={**job.arguments, name: value})


def enter(value: str) -> None:
    """Make a method the default."""
    multiprocessing.set_start_method(value, force=True)


def _methods() -> list[str]:
    return multiprocessing.get_all_start_methods()
