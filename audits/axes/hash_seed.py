"""Hash seed: what runs over a set of texts, or over their hashes, depends on it.

The unvaried run takes the seed that was recorded, and 0 where the hash was left random.
"""

from __future__ import annotations

import msgspec

from detloader.audits.replay.expectations import Asks
from detloader.audits.replay.job import Job
from detloader.audits.rule import Stage
from detloader.errors import UsageError
from detloader.findings import JsonValue

__all__ = ["ASKS", "STAGE", "VALUES", "current", "vary"]

STAGE = Stage.SOURCE_ORDER
ASKS = Asks.SAME_ROWS
VALUES = (1, 2)

_VARIABLE = "PYTHONHASHSEED"
_LARGEST = 2**32 - 1


def current(job: Job) -> JsonValue:
    """Return the seed that is set."""
    return int(job.variables.get(_VARIABLE) or 0)


def vary(job: Job, value: JsonValue) -> Job:
    """Set another one."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST:
        raise UsageError(f"hash_seed={value} is none: give an integer from 0 to {_LARGEST}")
    return msgspec.structs.replace(job, variables={**job.variables, _VARIABLE: str(value)})
