"""The rows around the first difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detloader.audits.picture import Scene, Sketch, brief

if TYPE_CHECKING:
    from detloader.audits.columns import Column
    from detloader.audits.compare import Comparison
    from detloader.findings import JsonValue

__all__ = ["PLACE", "TITLE", "sketch"]

TITLE = "Rows around the first difference"
PLACE = 10

BEFORE, AFTER = 4, 8
"""Rows before the first that differs, and from it on."""


def sketch(scene: Scene) -> Sketch | None:
    """Give the records of both runs, and whether the rest of each row agrees."""
    comparison = scene.comparison
    if comparison is None or comparison.first_difference is None:
        return None
    first = comparison.first_difference.row
    longer = max(comparison.a.rows, comparison.b.rows)
    window = slice(max(first - BEFORE, 0), min(first + AFTER, longer))
    a, b = comparison.a.take(window), comparison.b.take(window)
    rows: list[list[JsonValue]] = []
    names = [name for name in comparison.a.compared if name != "batch"]
    pairs = {"record": (a.record, b.record)}
    pairs |= {name: (a.compared[name], b.compared[name]) for name in names}
    for place in range(window.stop - window.start):
        known = a if place < a.rows else b
        rows.append(
            [
                window.start + place,
                int(known.epoch[place]),
                _shown(a.record, place),
                _shown(b.record, place),
                *(_relation(*pair, place) for pair in pairs.values()),
            ]
        )
    return Sketch(
        sentence=_sentence(comparison, rows, first - window.start),
        columns=["row", "epoch", *scene.views, *pairs],
        rows=rows,
        axes={"first": first},
    )


def _shown(column: Column, row: int) -> JsonValue:
    return brief(column.show(row)) if row < len(column) else None


def _relation(left: Column, right: Column, row: int) -> str:
    if row >= min(len(left), len(right)):
        return "absent"
    same = left.take(slice(row, row + 1)).equals(right.take(slice(row, row + 1)))
    return "same" if same[0] else "other"


def _sentence(comparison: Comparison, rows: list[list[JsonValue]], before: int) -> str:
    first = comparison.first_difference
    assert first is not None
    agree = {0: "From the start they differ", 1: "Row 0 agrees"}.get(
        first.row, f"The {first.row:,} rows before agree"
    )
    others = sum(row[4] != "same" for row in rows[before:])
    return (
        f"{agree}; row {first.row:,} is the first that differs, in {first.column}. Of the "
        f"{len(rows) - before} rows from there, {others} {'has' if others == 1 else 'have'} "
        "another record."
    )
