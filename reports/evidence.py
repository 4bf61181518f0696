"""The evidence of a finding, a line for each measurement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detloader.reports.plain import listed, printable, wrap

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from detloader.findings import FirstDifference, JsonValue

__all__ = ["evidence_lines", "first_difference_lines", "labelled"]

_LABEL = 19


def evidence_lines(evidence: Mapping[str, JsonValue], limit: int) -> Iterator[str]:
    """Yield the formula and what it explains, then every other measurement with its name."""
    told = set()
    if formula := evidence.get("formula"):
        told = {"formula"}
        if {"explained_rows", "rows"} <= evidence.keys():
            told |= {"explained_rows", "rows"}
            explained = _shown(evidence["explained_rows"], limit)
            formula = f"{formula}    explains {explained} of {_shown(evidence['rows'], limit)} rows"
        yield wrap(str(formula), indent="    ")
    for name, value in evidence.items():
        if name not in told:
            yield labelled(name.replace("_", " "), _shown(value, limit))


def first_difference_lines(first: FirstDifference | None) -> Iterator[str]:
    """Yield where two runs first differ, if that is known."""
    if first is None:
        return
    place = f"row {first.row}" + (f", epoch {first.epoch}" if first.epoch is not None else "")
    if first.batch is not None:
        place += f", batch {first.batch}"
    if first.b is None:
        change = f"{first.column} {_shown(first.a, 1)} is missing"
    elif first.a is None:
        change = f"{first.column} {_shown(first.b, 1)} is new"
    else:
        change = f"{first.column} {_shown(first.a, 1)} became {_shown(first.b, 1)}"
    yield labelled("first difference", f"{place}: {change}")


def labelled(label: str, text: str) -> str:
    """Return a line of a label and what it says, indented by two."""
    label = printable(label)
    if len(label) >= _LABEL:
        return wrap(f"{label}  {text}", indent="  ", hanging=" " * (_LABEL + 2))
    return wrap(text, indent=f"  {label:{_LABEL}}", hanging=" " * (_LABEL + 2))


def _shown(value: JsonValue, limit: int) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return listed([_item(item, limit) for item in value], limit)
    if isinstance(value, dict):
        return listed([f"{name} {_item(item, limit)}" for name, item in value.items()], limit)
    return "none" if value in (None, "") else str(value)


def _item(value: JsonValue, limit: int) -> str:
    """Return a part of a list, in parentheses where it has parts of its own."""
    shown = _shown(value, limit)
    return f"({shown})" if isinstance(value, list | dict) else shown
