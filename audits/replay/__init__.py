"""Replay: a recorded recipe run again, under other conditions, each in a process of its own.

What happens, in the order of a question's way:

    engine          the control first, then each axis alone, then sets of axes, then the answer
    recipes         the job that a recorded run stands for
    vary, axis      which axes are asked for; what an axis is, and where it is found
    confirm         what broke the run, tried again before it is blamed
    expectations    what must hold for a run that an axis varied
    trial           one job done and compared with the unvaried run: a task for any executor
    launch, job     processes for one job; what a job is; process: one that may do anything
    elsewhere       the same with other versions, in environments that are made for them
    child           what happens in such a process, the only place where recorded code runs
    resume          the two parts of an interrupted run, joined
    search, shrink  the smallest sets of axes that break a run; the smallest case of one
    answer          the result that reports render
    executors       executors by name
    recompute       rows of our own loaders computed again, over ranges, without their loop

Nothing here is imported by an audit or a check.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detloader.audits.replay.engine import replay

__all__ = ["replay"]


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for."""
    if name == "replay":
        from detloader.audits.replay import engine

        return engine.replay
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
