"""World size: more ranks deliver the same records, each once, in the same global batches.

Each rank is a process of its own. It is told its rank, and how many there are, by the
factory's arguments where it takes them, and else by the variables that launchers set.
"""

from __future__ import annotations

import msgspec

from detloader.audits.replay.expectations import Asks
from detloader.audits.replay.job import Job
from detloader.audits.rule import Stage
from detloader.errors import UsageError
from detloader.findings import JsonValue

__all__ = ["ASKS", "NAMES", "RANKS", "SHRINKS", "STAGE", "current", "values", "vary"]

STAGE = Stage.TOPOLOGY
ASKS = Asks.SAME_GLOBAL_BATCHES
SHRINKS = True

RANKS = ("rank", "shard_index", "process_index", "shard")
NAMES = ("world_size", "num_replicas", "num_shards", "shard_count", "process_count")


def current(job: Job) -> JsonValue:
    """Return how many ranks the unvaried run has."""
    return job.world_size


def values(job: Job) -> list[JsonValue]:
    """Try two ranks, where the factory takes its rank."""
    return [1, 2] if job.argument(RANKS) and job.argument(NAMES) else []


def vary(job: Job, value: JsonValue) -> Job:
    """Run so many ranks."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"world_size={value} is none: give a positive integer")
    rank, world = job.argument(RANKS), job.argument(NAMES)
    told = (rank, world) if rank and world else None
    return msgspec.structs.replace(job, world_size=value, rank_arguments=told)
