"""What the importer has to know about a format of order logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

__all__ = ["CUT", "MIXED", "RANKS", "LogFormat"]

CUT = b"cut"
"""Key in a table's metadata: a line for each file that ends before its end, and how far it goes."""

RANKS = b"ranks"
"""Key in a table's metadata: how many ranks there are, where the names of the files tell it."""

MIXED = b"mixed"
"""Key in a field's metadata: the place, from 0, at which its values change their type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFormat:
    """A format of order logs.

    Attributes:
        suffixes: endings of its files, with the dot.
        read: gives the raw columns of a log; raises LogError where it cannot.
        is_text: whether the format knows text only, so that 7 and "7" are one value.
        row_name: what errors call a row.
        first_row: the number by which errors call the first row of data.
        recognises: tells whether a file, or a folder of files, was written by the one program
            whose logs these are; None where the ending of a file says it all.
    """

    suffixes: tuple[str, ...]
    read: Callable[[Path], pa.Table]
    is_text: bool
    row_name: str
    first_row: int
    recognises: Callable[[Path], bool] | None = None
