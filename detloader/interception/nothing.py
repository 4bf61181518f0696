"""What is said of a run that was just recorded, and has no rows."""

from __future__ import annotations

from detloader.audits.headers import tell_no_rows
from detloader.errors import DetloaderError
from detloader.manifest.folders import find_ranks
from detloader.manifest.reader import open_run

__all__ = ["ranks_there", "tell_nothing"]


def ranks_there(run: str) -> frozenset[str]:
    """Name the folders of ranks that are in a run; none where nobody can tell."""
    try:
        return frozenset(map(str, find_ranks(run)))
    except (DetloaderError, OSError):
        return frozenset()


def tell_nothing(
    run: str,
    recorded: str,
    *,
    refused: str | None = None,
    before: frozenset[str] = frozenset(),
) -> str | None:
    """Say why a run has no rows; None where it has some, or nobody can tell.

    Args:
        run: its folder.
        recorded: what was recorded, such as "the program".
        refused: which loaders could not be, and why; None where there was none.
        before: folders of ranks that were there before it was.
    """
    try:
        new = {folder.stream for folder in find_ranks(run) if str(folder) not in before}
        if not new and before:
            return f"{run} has no further rows: {recorded} iterated no loader that is recorded"
        if not new:
            refused = refused or f"{recorded} iterated no loader that could be recorded"
            return f"{run} has no rows: {refused}"
        streams = open_run(run).streams
        reasons = [tell_no_rows(run, streams[name]) for name in new if name in streams]
    except (DetloaderError, OSError):  # another process, such as a rank, still writes
        return None
    return None if None in reasons else reasons[0]
