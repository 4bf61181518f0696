"""Markdown made for the comment on a pull request: the verdict, the cause, and the rest folded."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from detloader.findings import Severity, Verdict
from detloader.reports.evidence import first_difference_text, measurements
from detloader.reports.parts import ASPECTS, aspects, in_full, lacking, rows_told, streams_of
from detloader.reports.plain import LONGEST, plural, shortened
from detloader.reports.sentences import decision, headline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from detloader.findings import (
        Finding,
        FirstDifference,
        NotChecked,
        Picture,
        Result,
        StreamResult,
    )

__all__ = ["render"]

MOST = 65_000
"""Characters of a report: GitHub takes comments of fewer than 65,536."""

_DIFFERENT = frozenset({Verdict.REGROUPED, Verdict.REORDERED, Verdict.CHANGED})
_MARKS = re.compile(r"[\\`*_\[\]~$|]|^(?:[-+#=]|\d+[.)])")
_REFERENCES = re.compile(
    r"@|#(?=\d)|:(?=//)|\b(?:gh|ghsa|cve)-(?=\w)|\bwww(?=\.)|[0-9a-f]{6}(?=[0-9a-f])", re.IGNORECASE
)
"""Begins whatever GitHub makes a link of: people, issues, commits, advisories and addresses."""


def render(result: Result, *, limit: int = 10, color: bool = False) -> str:  # noqa: ARG001 - Markdown has no colours
    """Return the report; a block that would make it too long for a comment is left out, and said.

    Args:
        result: what an audit or a check gave.
        limit: items of a list that are shown before it says how many more there are.
        color: of no use here.
    """
    return "\n\n".join(_fitting(_blocks(result, limit))) + "\n"


def _fitting(blocks: Iterable[str]) -> Iterator[str]:
    size = 0
    for block in blocks:
        size += len(block) + 2
        if size > MOST:
            yield "The report goes on: see it as HTML or JSON."
            return
        yield block


def _blocks(result: Result, limit: int) -> Iterator[str]:
    yield f"### {_text(headline(result))}"
    if result.decision:
        yield f"Decision: {_text(decision(result))}"
    if result.comparisons:
        yield _matrix(result)
    for one, stream in streams_of(result):
        if result.comparisons:
            yield f"#### {_text(headline(one))}"
        yield from _stream(one, stream, limit)


def _stream(one: Result, stream: StreamResult, limit: int) -> Iterator[str]:
    if len(one.streams) > 1:
        because = f": {_text(stream.reason)}" if stream.reason else ""
        yield f"**{stream.verdict}**, stream {_code(stream.name)}{because}"
    first = stream.first_difference or None
    loud = [finding for finding in stream.findings if finding.severity is not Severity.NOTE]
    if loud:
        if stream.reason and stream.verdict in _DIFFERENT and len(one.streams) <= 1:
            yield _text(stream.reason)
        yield "\n\n".join(_finding(loud[0], first, limit))
    elif stream.verdict in _DIFFERENT:
        yield _text(stream.reason or "No rule names the cause.")
        yield from _table("evidence", _first(first))
    rest = [finding for finding in stream.findings if finding not in loud[:1]]
    if rest:
        parts = [part for finding in rest for part in _finding(finding, None, limit)]
        yield _folded(plural(len(rest), "further finding"), parts)
    if stream.pictures:
        yield _folded("What the pictures show", [_pictures(stream.pictures)])
    if stream.not_checked:
        yield _folded(
            f"{plural(len(stream.not_checked), 'rule')} not checked",
            [_not_checked(stream.not_checked)],
        )
    if stream.not_compared:
        yield f"Not compared: {', '.join(map(_code, stream.not_compared))}"


def _pictures(pictures: Iterable[Picture]) -> str:
    return _list(f"**{_text(one.title)}**: {_text(one.sentence)}" for one in pictures)


def _not_checked(skipped: Sequence[NotChecked]) -> str:
    return _list(
        f"{_text(', '.join(rules))}: for lack of {_text(needs)}"
        for needs, rules in lacking(skipped).items()
    )


def _finding(finding: Finding, first: FirstDifference | None, limit: int) -> Iterator[str]:
    baseline = ", in the baseline" if finding.run == "a" else ""
    yield f"**{_text(finding.rule)}** ({finding.severity}{baseline})"
    yield _text(in_full(finding))
    yield from _table("evidence", [*_evidence(finding, limit), *_first(first)])
    if finding.confirm:
        yield f"Confirm with {_code(finding.confirm)}"


def _evidence(finding: Finding, limit: int) -> Iterator[tuple[str, str]]:
    for label, value in measurements(finding.evidence, limit):
        if isinstance(value, dict):
            rows = zip(*value.values(), strict=True)
            yield label, "<br>".join(_row([*value], row) for row in rows)
        else:
            yield label, _code(value) if label == "formula" else _text(value)


def _row(names: list[str], cells: Iterable[str]) -> str:
    return _text(", ".join(f"{name} {cell}" for name, cell in zip(names, cells, strict=True)))


def _first(first: FirstDifference | None) -> list[tuple[str, str]]:
    return [] if first is None else [("first difference", _text(first_difference_text(first)))]


def _table(head: str, rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    lines = [f"| {_text(label)} | {value} |" for label, value in rows]
    if lines:
        yield "\n".join([f"| {head} | |", "|---|---|", *lines])


def _matrix(result: Result) -> str:
    lines = [f"| run | verdict | {' | '.join(ASPECTS)} |", f"|---|---|{'---|' * len(ASPECTS)}"]
    for one, stream in streams_of(result):
        of = f" {_code(stream.name)}" if len(one.streams) > 1 else ""
        cells = [rows_told(*counted) for counted in aspects(stream).items()]
        lines.append(f"| {_code(one.runs[-1].path)}{of} | {stream.verdict} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _folded(summary: str, parts: Iterable[str]) -> str:
    inside = "\n\n".join(parts)
    return f"<details><summary>{_text(summary)}</summary>\n\n{inside}\n\n</details>"


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _text(text: str) -> str:
    """Return a text that is shown as it is: no markup, no mention, no reference."""
    escaped = _MARKS.sub(
        lambda mark: f"{mark[0][:-1]}\\{mark[0][-1]}", html.escape(shortened(text, LONGEST))
    )
    return _REFERENCES.sub(lambda mark: f"{mark[0]}<!-- -->", escaped)


def _code(text: str) -> str:
    """Return a text as code; a bar would end the cell of a table even there."""
    shown = shortened(text, LONGEST).replace("|", "\\|")
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    space = " " if shown.startswith("`") or shown.endswith("`") or not shown.strip() else ""
    return f"{fence}{space}{shown}{space}{fence}"
