"""The rows of a run, as a table that fits a width."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from detloader.manifest.schema import is_compared
from detloader.reports.plain import WIDTH, grid, printable, wrap
from detloader.reports.plain import cells as count_cells

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["output_width", "table_lines"]

_DIGITS = 8
"""Digits of a digest that stand for it where there is no room for all of them."""

_KEPT = frozenset({"row", "record", "epoch", "batch"})


def output_width() -> int:
    """Return the columns of the terminal; 80 where the output goes elsewhere."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or WIDTH
    except OSError:
        return WIDTH


def table_lines(
    columns: Mapping[str, list[Any]], show: Callable[[Any], str], width: int
) -> list[str]:
    """Return a line of headings and a line for each row.

    What does not fit is shortened (digests, to their first digits) or left out (columns that
    are shown only, then those that are compared, from the last one on), and a line says so.

    Args:
        columns: the values of each column.
        show: gives a value as text.
        width: columns of the terminal.
    """
    texts = {name for name, values in columns.items() if _has_text(values)}
    cells = {name: [show(value) for value in values] for name, values in columns.items()}
    if _width(cells) > width:
        cells = {n: [*map(_short, c)] if _is_digest(n) else c for n, c in cells.items()}
    left_out = []
    for name in _least_first(cells):
        if _width(cells) <= width:
            break
        left_out.append(name)
        cells = {other: cell for other, cell in cells.items() if other != name}
    lines = grid(cells, texts)
    if left_out:
        named = ", ".join(name for name in columns if name in left_out)
        lines.append(wrap(f"(no room for: {named})", hanging=" "))
    return lines


def _least_first(columns: Iterable[str]) -> list[str]:
    """Return the columns that can be left out, the one that is needed least first."""
    others = [name for name in reversed([*columns]) if name not in _KEPT]
    return sorted(others, key=is_compared)


def _width(cells: Mapping[str, list[str]]) -> int:
    widths = [max(map(count_cells, (printable(name), *texts))) for name, texts in cells.items()]
    return sum(widths) + 2 * (len(widths) - 1)


def _is_digest(column: str) -> bool:
    return column in {"content", "raw"} or column.startswith("draws")


def _short(text: str) -> str:
    return text if len(text) <= _DIGITS + 1 else f"{text[:_DIGITS]}…"


def _has_text(values: list[Any]) -> bool:
    return any(isinstance(value, str) for value in values)
