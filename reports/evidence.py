"""The evidence of a finding, a line for each measurement."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from detloader.reports.plain import (
    LONGEST,
    WIDTH,
    cells,
    grid,
    listed,
    printable,
    shortened,
    wrap,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from detloader.findings import FirstDifference, FirstDifferences, JsonValue

__all__ = [
    "evidence_labels",
    "evidence_lines",
    "first_difference_lines",
    "first_difference_text",
    "label_width",
    "labelled",
    "level_lines",
    "measurements",
]

_NARROWEST, _WIDEST = 19, 32


def label_width(labels: Iterable[str]) -> int:
    """Return the width of a column of labels; one that is too long for it stands alone."""
    widths = [cells(printable(label)) + 2 for label in labels]
    return max([_NARROWEST, *(width for width in widths if width <= _WIDEST)])


def evidence_labels(evidence: Mapping[str, JsonValue]) -> list[str]:
    """Return the labels that the lines of this evidence have."""
    return [_label(name) for name in _further(evidence)]


def evidence_lines(
    evidence: Mapping[str, JsonValue], limit: int, width: int = _NARROWEST
) -> Iterator[str]:
    """Yield the formula and what it explains, then every other measurement with its name."""
    told = _told(evidence)
    if told:
        yield wrap("    explains ".join(_formula(evidence, limit)), indent="    ")
    for name, value in _further(evidence).items():
        yield from _measurement(name, value, limit, width)


def measurements(
    evidence: Mapping[str, JsonValue], limit: int
) -> Iterator[tuple[str, str | dict[str, list[str]]]]:
    """Yield each measurement's label with its text, or with the columns of its table.

    Where there is a formula, it comes first, with what it explains.
    """
    told = _told(evidence)
    if told:
        yield from zip(("formula", "explains"), _formula(evidence, limit), strict=False)
    for name, value in _further(evidence).items():
        if (chance := _log10_chance(name, value)) is not None:
            yield _label(name), _chance(chance)
        elif rows := _rows_of_table(value):
            cut = f", first {limit} of {len(rows):,}" if len(rows) > limit else ""
            shown = {part: [_shown(row[part], limit) for row in rows[:limit]] for part in rows[0]}
            yield _label(name) + cut, shown
        else:
            yield _label(name), _shown(value, limit)


def first_difference_lines(first: FirstDifference | None, width: int = _NARROWEST) -> Iterator[str]:
    """Yield where two runs first differ, if that is known."""
    if first is not None:
        yield labelled("first difference", first_difference_text(first), width)


def level_lines(levels: FirstDifferences, width: int = _NARROWEST) -> Iterator[str]:
    """Yield the levels at which two runs differ, by the row that shows it, if there are several."""
    rows: dict[int, list[str]] = {}
    for level, first in levels.items():
        if first is not None:
            rows.setdefault(first.row, []).append(level.replace("_", " "))
    if sum(map(len, rows.values())) > 1:
        told = [f"row {row}: {', '.join(names)}" for row, names in sorted(rows.items())]
        yield labelled("by level", "; ".join(told), width)


def first_difference_text(first: FirstDifference) -> str:
    """Say where two runs first differ, and in what."""
    place = f"row {first.row}" + (f", epoch {first.epoch}" if first.epoch is not None else "")
    if first.batch is not None:
        place += f", batch {first.batch}"
    if first.b is None:
        change = f"{first.column} {_shown(first.a, 1)} is missing"
    elif first.a is None:
        change = f"{first.column} {_shown(first.b, 1)} is new"
    else:
        change = f"{first.column} {_shown(first.a, 1)} became {_shown(first.b, 1)}"
    return f"{place}: {change}"


def labelled(label: str, text: str, width: int = _NARROWEST) -> str:
    """Return a label and what it says, indented by two; the text is aligned to the width."""
    label, hanging = shortened(label, LONGEST), " " * (width + 2)
    if cells(label) < width:
        space = " " * (width - cells(label))
        return wrap(text, indent=f"  {label}{space}", hanging=hanging)
    return f"{wrap(label, indent='  ')}\n{wrap(text, indent=hanging)}"


def _told(evidence: Mapping[str, JsonValue]) -> set[str]:
    """Return the measurements that stand in the line of the formula."""
    if not evidence.get("formula"):
        return set()
    rows = {"explained_rows", "rows"}
    return {"formula"} | (rows if rows <= evidence.keys() else set())


def _further(evidence: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the measurements that say more than the line of the formula, and than each other.

    A list says how long it is, unless it was cut; one of nothing, and what is unknown, say nothing.
    """
    told = _told(evidence)
    return {
        name: value
        for name, value in evidence.items()
        if name not in told and value not in ([], None) and not _is_seen(evidence, name)
    }


def _is_seen(evidence: Mapping[str, JsonValue], name: str) -> bool:
    """Tell whether a measurement is the length of another one, which is a list."""
    counted = evidence.get(name.removesuffix("_count"))
    return name.endswith("_count") and isinstance(counted, list) and len(counted) == evidence[name]


def _formula(evidence: Mapping[str, JsonValue], limit: int) -> list[str]:
    """Give the formula, and which rows it explains where that was counted."""
    formula = str(evidence["formula"])
    if "rows" not in _told(evidence):
        return [formula]
    explained, rows = (_shown(evidence[name], limit) for name in ("explained_rows", "rows"))
    return [formula, f"{explained} of {rows} rows"]


def _label(name: str) -> str:
    words = name.replace("_", " ")
    if name.startswith("p_"):
        return f"chance if {words.removeprefix('p ')}"
    return words.removeprefix("log10 ")


def _measurement(name: str, value: JsonValue, limit: int, width: int) -> Iterator[str]:
    label = _label(name)
    if (chance := _log10_chance(name, value)) is not None:
        yield labelled(label, _chance(chance), width)
    elif table := _table(value, limit, width):
        heads = _heads(label, width)
        yield from (f"{head}{line}" for head, line in zip(heads, table, strict=False))
    else:
        yield labelled(label, _shown(value, limit), width)


def _log10_chance(name: str, value: JsonValue) -> float | None:
    """Return the logarithm of a chance, None where a measurement is something else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if name.startswith("log10_"):
        return float(value)
    if name.startswith("p_"):
        return math.log10(value) if value > 0 else -math.inf
    return None


def _heads(label: str, width: int) -> Iterator[str]:
    """Yield what the lines of a table begin with."""
    yield f"  {label}{' ' * (width - cells(label))}"
    yield from itertools.repeat(" " * (width + 2))


def _table(value: JsonValue, limit: int, width: int) -> list[str] | None:
    """Return measurements of several parts as a table, if they have the same parts and fit."""
    rows = _rows_of_table(value)
    if rows is None:
        return None
    shown = rows[:limit]
    columns = {name: [_shown(row[name], limit) for row in shown] for name in rows[0]}
    texts = {name for name in rows[0] if any(isinstance(row[name], str) for row in shown)}
    lines = grid(columns, texts)
    if len(rows) > limit:
        lines.append(f"and {len(rows) - limit:,} more")
    return lines if max(map(cells, lines)) + width + 2 <= WIDTH else None


def _rows_of_table(value: JsonValue) -> list[dict[str, JsonValue]] | None:
    """Return measurements of several parts, if they have the same parts and no parts in these."""
    if not isinstance(value, list) or len(value) < 2:  # noqa: PLR2004 - one is no table
        return None
    rows = [row for row in value if isinstance(row, dict) and row]
    if len(rows) < len(value) or any(row.keys() != rows[0].keys() for row in rows):
        return None
    if any(isinstance(cell, list | dict) for row in rows for cell in row.values()):
        return None
    return rows


def _chance(log10: float) -> str:
    """Say how small a chance is, never smaller than it is.

    Its logarithm may have been rounded to one decimal.
    """
    if log10 > -3:  # noqa: PLR2004 - a figure that people read at a glance
        return f"{10**log10:.2g}"
    if log10 == -math.inf:
        return "below 1 in 10^300"
    return f"below 1 in 10^{math.floor(-log10 - 0.05)}"


def _shown(value: JsonValue, limit: int) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return listed([_item(item, limit) for item in value], limit)
    if isinstance(value, dict):
        return listed([f"{name} {_item(item, limit)}" for name, item in value.items()], limit)
    return "none" if value in (None, "") else shortened(str(value), LONGEST)


def _item(value: JsonValue, limit: int) -> str:
    """Return a part of a list, in parentheses where it has parts of its own."""
    shown = _shown(value, limit)
    return f"({shown})" if isinstance(value, list | dict) else shown
