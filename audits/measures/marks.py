"""What the column `resumed` marks: rows that were delivered after a restart.

It is false, zero, empty or absent before the first one. It may count restarts; a flag that
only stays true tells the first one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.manifest.schema import Level

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.view import StreamView
    from detloader.manifest.reader import Stream

__all__ = ["first_and_any_marked", "marked_rows"]

UNMARKED = frozenset({None, False, "", "0", "false", "False"})
"""Values of rows from before a restart; 0 is False."""


def first_and_any_marked(stream: Stream) -> tuple[bool, bool]:
    """Tell whether the first row, and whether any, is marked as one from after a restart."""
    if "resumed" not in stream.columns or stream.level is Level.DIGEST or not stream.rows:
        return False, False
    column = stream.table(["resumed"])["resumed"]
    marked = [value not in UNMARKED for value in column.unique().to_pylist()]
    return column[0].as_py() not in UNMARKED, any(marked)


def marked_rows(view: StreamView) -> Integers:
    """Give the rows at which a run was taken up again, as their marks say.

    Row 0 is among them where the run holds nothing from before.
    """
    if not view.has("resumed"):
        return np.zeros(0, np.int64)
    column = view.column("resumed")
    state = column.values.astype(np.int64)
    if column.vocabulary is not None:
        names = column.vocabulary.to_pylist()
        numbers = [0 if name in UNMARKED else place for place, name in enumerate(names, start=1)]
        state = np.array([*numbers, 0])[state]
    state[column.missing()] = 0
    changes = np.flatnonzero(np.diff(state, prepend=0))
    restarts: Integers = changes[state[changes] != 0]
    return restarts
