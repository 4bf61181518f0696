"""What a recorded program's Python process does before the program's own code."""

from __future__ import annotations

import atexit
import json
import os
import sys

from detloader.ending import keeping_status
from detloader.interception.session import Session, begin_session
from detloader.program.launch import OPTIONS, PROCESS, RUN

__all__ = ["begin"]


def begin() -> None:
    """Record what this process iterates, until it ends."""
    if RUN not in os.environ:
        return
    run = os.environ[RUN]  # which the program may remove
    session = Session(run, json.loads(os.environ[OPTIONS]))
    begin_session(session)
    if os.environ.get(PROCESS) == str(os.getpid()):
        atexit.register(_say_if_nothing_was_recorded, run, session)


def _say_if_nothing_was_recorded(run: str, session: Session) -> None:
    with keeping_status():
        from detloader.interception.nothing import tell_nothing

        told = tell_nothing(run, "the program", refused=session.tell_refused())
        if told is not None:
            sys.stderr.write(f"detloader: {told}\n")
