"""Text for people: the verdict, the cause, the evidence, the next command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from detloader.findings import Severity, Verdict
from detloader.reports.axes import axes_lines
from detloader.reports.evidence import (
    evidence_labels,
    evidence_lines,
    first_difference_lines,
    label_width,
    labelled,
    level_lines,
)
from detloader.reports.paint import COLORS, leave, paint
from detloader.reports.parts import lacking
from detloader.reports.plain import LONGEST, fitting, shortened, wrap
from detloader.reports.sentences import headline, summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from detloader.findings import Finding, FirstDifference, NotChecked, Result, StreamResult

__all__ = ["render"]

_DIFFERENT = frozenset({Verdict.REGROUPED, Verdict.REORDERED, Verdict.CHANGED})
_COMPARED = _DIFFERENT | {Verdict.IDENTICAL, Verdict.EQUIVALENT}


def render(result: Result, *, limit: int = 10, color: bool = False) -> str:
    """Return the report; nothing is wider than 80 columns.

    Args:
        result: what an audit or a check gave.
        limit: items of a list that are shown before it says how many more there are.
        color: whether verdicts and severities are coloured, and the rest set apart.
    """
    text = _Text(limit, paint if color else leave)
    blocks = [block for one in result.comparisons or [result] for block in text.result(one)]
    if result.comparisons:
        blocks.append(_said(summary(result)))
    return "\n\n".join(blocks) + "\n"


@dataclass(frozen=True, slots=True)
class _Text:
    """Blocks of text, to be set apart by empty lines.

    Attributes:
        limit: items of a list that are shown.
        paint: gives a text the styles of its spans, or leaves it.
    """

    limit: int
    paint: Callable[..., str]

    def result(self, result: Result) -> Iterator[str]:
        yield self._judged(headline(result), result.verdict)
        if result.decision:
            yield _said(f"decision: {result.decision}", hanging="  ")
        if result.command == "replay":
            yield from (self._finding(one, None) for one in result.findings)
            if axes := [*axes_lines(result)]:
                yield "\n".join(self._labels(axes))
            return
        if len(result.streams) <= 1:
            yield from self._stream(result)
            return
        for stream in result.streams:
            alone = stream.verdict not in _COMPARED and stream.reason
            because = f": {stream.reason}" if alone else ""
            yield self._judged(f"{stream.verdict}: stream {stream.name}{because}", stream.verdict)
            yield from self._stream(stream)

    def _stream(self, stream: Result | StreamResult) -> Iterator[str]:
        first = stream.first_difference or None
        is_explained = any(finding.severity is not Severity.NOTE for finding in stream.findings)
        if stream.verdict in _DIFFERENT and not is_explained:
            told = [*first_difference_lines(first), *level_lines(stream.first_differences or {})]
            yield "\n".join([_said(_unexplained(stream)), *self._labels(told)])
            first = None
        elif stream.verdict in _COMPARED and stream.reason:
            yield _said(f"{stream.reason}.")
        for finding in stream.findings:
            yield self._finding(finding, first)
            first = None
        if stream.not_checked:
            yield self._aside("\n".join(_unasked_lines(stream.not_checked)))
        if stream.not_compared:
            yield self._aside(
                _said(f"not compared: {', '.join(stream.not_compared)}", hanging="  ")
            )

    def _finding(self, finding: Finding, first: FirstDifference | None) -> str:
        baseline = ", in the baseline" if finding.run == "a" else ""
        head = _said(f"{finding.rule} ({finding.severity}{baseline})")
        severity = len(finding.rule) + 2
        end = severity + len(finding.severity)
        told = [
            self.paint(head, (0, severity - 2, "bold"), (severity, end, COLORS[finding.severity])),
            _said(finding.message, indent="  "),
        ]
        if finding.cause and finding.cause not in finding.message:
            told.append(_said(finding.cause, indent="  "))
        width = label_width(evidence_labels(finding.evidence))
        facts = [*evidence_lines(finding.evidence, self.limit, width)]
        facts += first_difference_lines(first, width)
        if finding.confirm:
            facts.append(labelled("confirm with", shortened(finding.confirm, LONGEST), width))
        return "\n".join([*told, *self._labels(facts, width)])

    def _judged(self, sentence: str, verdict: Verdict) -> str:
        """Colour the verdict that a sentence begins with."""
        return self.paint(_said(sentence), (0, len(verdict), f"bold {COLORS[verdict]}"))

    def _labels(self, lines: Iterable[str], width: int = label_width(())) -> Iterator[str]:
        """Set the labels apart from what they say."""
        for line in "\n".join(lines).splitlines():
            is_labelled = line.startswith("  ") and not line.startswith("   ")
            column = fitting(line, width + 2)
            end = len(column) - 2 if column.endswith(" ") else len(line)
            yield self.paint(line, (0, end, "dim")) if is_labelled else line

    def _aside(self, block: str) -> str:
        return self.paint(block, (0, len(block), "dim"))


def _said(text: str, **margins: str) -> str:
    return wrap(shortened(text, LONGEST), **margins)


def _unexplained(stream: Result | StreamResult) -> str:
    if stream.reason:
        # Not capitalised: a formula may stand at its head.
        return f"{stream.reason}."
    return "No rule finds a fault." if stream.findings else "No rule names the cause."


def _unasked_lines(skipped: Sequence[NotChecked]) -> Iterator[str]:
    """Yield what was lacking, and beside it the rules that could not be asked without it."""
    rules = lacking(skipped)
    yield "not checked, for lack of"
    width = label_width(rules)
    yield from (labelled(missing, ", ".join(names), width) for missing, names in rules.items())
