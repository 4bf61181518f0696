"""What a recorded program's Python process does before the program's own code."""

from __future__ import annotations

import atexit
import json
import os
import sys

from detloader.interception.session import Session, begin_session
from detloader.manifest.folders import find_ranks
from detloader.program.launch import OPTIONS, PROCESS, RUN

__all__ = ["begin"]


def begin() -> None:
    """Record what this process iterates, until it ends."""
    if RUN not in os.environ:
        return
    begin_session(Session(os.environ[RUN], json.loads(os.environ[OPTIONS])))
    if os.environ.get(PROCESS) == str(os.getpid()):
        atexit.register(_say_if_nothing_was_recorded)


def _say_if_nothing_was_recorded() -> None:
    run = os.environ[RUN]
    if not any(True for _ in find_ranks(run)):
        sys.stderr.write(
            f"detloader: {run} has no rows: the program iterated no loader that could be recorded\n"
        )
