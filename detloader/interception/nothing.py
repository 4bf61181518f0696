"""What is said of a run that was just recorded, and has no rows."""

from __future__ import annotations

from detloader.audits.headers import tell_no_rows
from detloader.errors import DetloaderError
from detloader.manifest.folders import find_ranks
from detloader.manifest.reader import open_run

__all__ = ["tell_nothing"]


def tell_nothing(run: str, recorded: str) -> str | None:
    """Say why a run has no rows; None where it has some, or nobody can tell.

    Args:
        run: its folder.
        recorded: what was recorded, such as "the program".
    """
    try:
        if not any(True for _ in find_ranks(run)):
            return f"{run} has no rows: {recorded} iterated no loader that could be recorded"
        streams = open_run(run).streams.values()
        reasons = [tell_no_rows(run, stream) for stream in streams]
    except (DetloaderError, OSError):  # another process, such as a rank, still writes
        return None
    return None if None in reasons else reasons[0]
