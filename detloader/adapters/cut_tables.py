"""Where a table of Hugging Face begins in the one that it was cut from."""

from __future__ import annotations

from typing import Any

from datasets.table import ConcatenationTable, MemoryMappedTable

__all__ = ["first_place"]


def first_place(table: Any) -> int:
    """Return the place of a table's first row in the table that it is a slice of.

    A table that was read from a file keeps what was done to it since; one in memory has the
    arrays of the one that it was cut from, unless they were made anew since (`cast`, `map`).

    Returns:
        0, too, where nobody can tell: of what several files or tables were joined to.
    """
    if isinstance(table, ConcatenationTable):
        joined = table.blocks
        return max(map(first_place, joined[0])) if len(joined) == 1 else 0
    if isinstance(table, MemoryMappedTable):
        return sum(arguments[0] for name, arguments, _ in table.replays if name == "slice")
    columns = table.table.columns
    if any(column.num_chunks != 1 for column in columns):
        return 0
    return max((column.chunk(0).offset for column in columns), default=0)
