"""Preflight: a frozen experiment run again, where it was frozen and where it is to go.

What happens, in the order of a question's way:

    engine      from the question to the answer
    course      the control first, then the candidate, then what follows
    question    what is asked
    plan        the job that a frozen run stands for
    places      a place to run it: this environment, or one that is made
    replays     runs of that job, in any place
    control     whether the frozen run comes out again where it was frozen
    decision    keep, pin or migrate, rule by rule and for all
    forms       what can be compared of runs that were recorded in different ways
    purpose     what the experiment asks for, whichever loader serves it
    experiment  what changes for the experiment: which records, how often
    findings    what it finds beside the rules
    answer      the result that reports render
    accepted    the frozen file of a change that was accepted

Recorded code runs here, in processes of its own; the user names the file that says which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detloader.audits.preflight.engine import Preflight, preflight

__all__ = ["Preflight", "preflight"]


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for."""
    if name in __all__:
        from detloader.audits.preflight import engine

        return getattr(engine, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
