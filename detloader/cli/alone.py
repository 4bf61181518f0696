"""A record made again alone, draw by draw, as `show --replay` prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from detloader.errors import UsageError
from detloader.reports.evidence import label_width, labelled
from detloader.reports.plain import plural, wrap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from detloader.generators.listening import Draw
    from detloader.grain.alone import Alone
    from detloader.manifest.rounding import Digester

__all__ = ["alone_lines"]

_LONGEST = 200
"""Letters of a value that are shown."""


def alone_lines(
    loader: Any, name: str, rows: Sequence[dict[str, Any]], digester: Digester
) -> Iterator[str]:
    """Make the records of some rows again, each alone, and yield what each drew.

    Args:
        loader: what the factory gave.
        name: the factory.
        rows: rows of a run, with their position in the rank.
        digester: what digests their content as that run did.

    Raises:
        UsageError: the loader cannot make a record alone, or has others at these places.
    """
    from detloader.adapters import find_alone

    alone = find_alone(loader)
    for row in rows:
        made = alone(loader, row["position"], digester)
        if row.get("resumed") or made.index != row.get("index", made.index):
            raise UsageError(f"row {row['row']} is not at its place in the stream of {name}")
        content = made.content_like(row.get("content", made.content))
        yield from _lines(row, made, content)


def _lines(row: dict[str, Any], made: Alone, content: int | str | None) -> Iterator[str]:
    yield ""
    yield wrap(
        f"row {row['row']}: record {row['record']}, read at index {made.index} of the source, "
        f"at position {made.position} of the stream",
        hanging="  ",
    )
    calls = [f"{draw.method}({_short(draw.arguments)})" for draw in made.draws]
    width = label_width(calls)
    for call, draw in zip(calls, made.draws, strict=True):
        yield labelled(call, _value(draw), width)
    yield labelled("drawn", plural(made.taken, "word") + " of 32 bits", width)
    yield labelled("draws", _compared(row, "draws", made.draws_digest), width)
    yield labelled("content", _compared(row, "content", content), width)


def _value(draw: Draw) -> str:
    import numpy as np

    if draw.value is None:
        return "changed in place"
    with np.printoptions(threshold=20, edgeitems=4):
        return _short(" ".join(repr(draw.value).split()))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _compared(row: dict[str, Any], column: str, digest: int | str | None) -> str:
    shown = "none" if digest is None else f"{digest}"
    if column not in row:
        return f"{shown}; the run has none to compare with"
    return f"{shown}, as recorded" if row[column] == digest else f"{shown}, but {row[column]} then"
