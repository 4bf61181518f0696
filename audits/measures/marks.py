"""What the column `resumed` marks: rows that were delivered after a restart.

It is false, zero, empty or absent before the first one. It may count restarts; a flag that
only stays true tells the first one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from detloader.manifest.schema import Level

if TYPE_CHECKING:
    from detloader.manifest.reader import Stream

__all__ = ["UNMARKED", "first_and_any_marked"]

UNMARKED = frozenset({None, False, "", "0", "false", "False"})
"""Values of rows from before a restart; 0 is False."""


def first_and_any_marked(stream: Stream) -> tuple[bool, bool]:
    """Tell whether the first row, and whether any, is marked as one from after a restart."""
    if "resumed" not in stream.columns or stream.level is Level.DIGEST or not stream.rows:
        return False, False
    column = stream.table(["resumed"])["resumed"]
    marked = [value not in UNMARKED for value in column.unique().to_pylist()]
    return column[0].as_py() not in UNMARKED, any(marked)
