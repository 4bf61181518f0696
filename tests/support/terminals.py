"""What a program shows on a terminal."""

from __future__ import annotations

import errno
import os

__all__ = ["read_terminal"]


def read_terminal(ours: int, until: str | None = None) -> str:
    """Read what was written to a terminal, which comes in pieces of any size.

    Args:
        ours: the end of the pseudo-terminal that shows it; it stays open.
        until: read until this has come; else until nobody can write any more, for which
            the other end has to be closed here, too.
    """
    shown = b""
    while until is None or until.encode() not in shown:
        try:
            piece = os.read(ours, 65_536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            # Linux says so when the other end is closed everywhere.
            piece = b""
        if not piece:
            break
        shown += piece
    return shown.decode(errors="replace")  # a piece may end within a character
