"""Resume: stopped after k elements and restored in a new process, a loader goes on as before.

The iterator's state is saved by `get_state` or `state_dict`, its own or the loader's. Both
parts are joined, and compared with the uninterrupted run.
"""

from __future__ import annotations

import msgspec

from detloader.audits.replay.expectations import Asks
from detloader.audits.replay.job import Job
from detloader.audits.rule import Stage
from detloader.errors import UsageError
from detloader.findings import JsonValue

__all__ = ["ASKS", "SHRINKS", "STAGE", "refused", "values", "vary"]

STAGE = Stage.RESUME
ASKS = Asks.SAME_ROWS
SHRINKS = True


def values(job: Job) -> list[JsonValue]:
    """Stop in the middle, where the loader has a state to save."""
    learnt = job.learnt
    if learnt is None or not learnt.stateful or learnt.elements < 2:  # noqa: PLR2004 - a middle
        return []
    return [learnt.elements // 2]


def vary(job: Job, value: JsonValue) -> Job:
    """Stop after so many elements, and go on."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"resume_at={value} is none: give the elements before the stop, 1 or more")
    if (elements := job.learnt.elements if job.learnt else 0) and value > elements:
        raise UsageError(
            f"resume_at={value} is none: {job.factory} ends after {elements} elements: "
            "stop before that"
        )
    if why := refused(job):
        raise UsageError(why)
    return msgspec.structs.replace(job, resume_at=value)


def refused(job: Job) -> str | None:
    """Say why no loader of this job can be resumed; None where it can, or nothing is known yet."""
    learnt = job.learnt
    if learnt is None or learnt.stateful or not learnt.elements:
        return None
    return f"the loader of {job.factory} has no state to save: leave resume_at out"
