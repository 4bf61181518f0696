"""What a failure says: the audit's short form."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterable
from itertools import islice

from detloader.findings import Finding, FirstDifference, Result, Severity
from detloader.manifest.reader import Run
from detloader.reports import headline
from detloader.reports.evidence import first_difference_text, labelled
from detloader.reports.plain import grid, shortened, wrap

__all__ = ["Made", "cause_lines", "comparison_lines", "finding_lines", "look_further"]

_BEFORE, _AFTER = 2, 3
"""Rows that are shown before and after the first that differs."""

_LONGEST = 24
"""Characters of a cell."""


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """A run, and what to call it."""

    run: Run
    name: str

    @property
    def named(self) -> Run:
        """Return the run under its name, for results to speak of."""
        return dataclasses.replace(self.run, path=self.name)


def comparison_lines(result: Result, a: Made, b: Made) -> list[str]:
    """Say how two runs differ: the verdict, the cause, the first difference with its rows.

    Args:
        result: the audit of both.
        a: the baseline.
        b: the other run.
    """
    lines = [wrap(headline(result)), *cause_lines(result.findings)]
    if first := result.first_difference or None:
        lines.append(labelled("first difference", first_difference_text(first)))
        lines += [f"    {line}" for line in _rows(first, a, b)]
    return [*lines, look_further("audit", a, b)]


def cause_lines(findings: Iterable[Finding]) -> list[str]:
    """Name the first finding that explains something, which a note does not."""
    return finding_lines(each for each in findings if each.severity is not Severity.NOTE)


def finding_lines(findings: Iterable[Finding]) -> list[str]:
    """Name the first finding, and what it points to."""
    return [
        wrap(text, indent="  ")
        for finding in islice(findings, 1)
        for text in (f"{finding.rule} ({finding.severity}): {finding.message}", finding.cause)
    ]


def look_further(command: str, *made: Made) -> str:
    """Give the command that says more; it is not wrapped, so that it can be pasted."""
    paths = shlex.join(each.run.path for each in made)
    return f"  look further       detloader {command} {paths}"


def _rows(first: FirstDifference, a: Made, b: Made) -> list[str]:
    """Show the rows around the first difference, of both runs side by side."""
    start = max(first.row - _BEFORE, 0)
    stop = min(first.row + _AFTER + 1, max(a.run.rows, b.run.rows))
    cells = {"row": [str(row) for row in range(start, stop)]}
    for column in dict.fromkeys(["record", first.column]):
        for made in (a, b):
            head = made.name if column == "record" else f"{column}, {made.name}"
            cells[head] = _cells(made.run, column, start, stop)
    return grid(cells, set())


def _cells(run: Run, column: str, start: int, stop: int) -> list[str]:
    (stream,) = run.streams.values()
    values = stream.table([column])[column].slice(start, stop - start).to_pylist()
    shown = ["none" if value is None else shortened(str(value), _LONGEST) for value in values]
    return shown + ["-"] * (stop - start - len(shown))
