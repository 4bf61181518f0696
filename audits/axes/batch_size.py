"""Batch size: the same rows in the same order, in other batches."""

from __future__ import annotations

from detloader.audits.replay.expectations import Asks
from detloader.audits.replay.job import Job
from detloader.audits.rule import Stage
from detloader.findings import JsonValue

__all__ = ["ASKS", "NAMES", "STAGE", "values"]

STAGE = Stage.DRAWS
ASKS = Asks.SAME_ORDER
NAMES = ("batch_size", "global_batch_size")


def values(job: Job) -> list[JsonValue]:
    """Double the batches."""
    name = job.argument(NAMES)
    size = None if name is None else job.value(name)
    return [2 * size] if isinstance(size, int) and not isinstance(size, bool) else []
