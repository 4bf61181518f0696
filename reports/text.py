"""Text for people: the verdict, the cause, the evidence, the next command."""

from __future__ import annotations

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
from detloader.reports.plain import wrap
from detloader.reports.sentences import PARTIAL, headline, summary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from detloader.findings import Finding, FirstDifference, NotChecked, Result, StreamResult

__all__ = ["render"]

_RED, _YELLOW, _GREEN = 31, 33, 32
_COLORS = {
    Verdict.IDENTICAL: _GREEN,
    Verdict.EQUIVALENT: _GREEN,
    Verdict.CLEAN: _GREEN,
    Verdict.INCONCLUSIVE: _YELLOW,
    Severity.WARN: _YELLOW,
    Severity.NOTE: _GREEN,
}
_DIFFERENT = frozenset({Verdict.REGROUPED, Verdict.REORDERED, Verdict.CHANGED})
_COMPARED = _DIFFERENT | {Verdict.IDENTICAL, Verdict.EQUIVALENT}


def render(result: Result, *, limit: int = 10, color: bool = False) -> str:
    """Return the report; nothing is wider than 80 columns.

    Args:
        result: what an audit or a check gave.
        limit: items of a list that are shown before it says how many more there are.
        color: whether verdicts and severities are coloured.
    """
    paint = _paint if color else _leave
    results = result.comparisons or [result]
    blocks = [paint(block) for one in results for block in _result_blocks(one, limit)]
    if result.comparisons:
        blocks.append(wrap(summary(result)))
    return "\n\n".join(blocks) + "\n"


def _result_blocks(result: Result, limit: int) -> Iterator[str]:
    yield wrap(headline(result))
    if result.decision:
        yield wrap(f"decision: {result.decision}", hanging="  ")
    if result.command == "replay":
        yield from ("\n".join(_finding_lines(one, None, limit)) for one in result.findings)
        yield from filter(None, ["\n".join(axes_lines(result))])
        return
    if len(result.streams) <= 1:
        yield from _stream_blocks(result, limit)
        return
    for stream in result.streams:
        unjudged = stream.verdict is Verdict.INCONCLUSIVE and stream.reason
        because = f": {stream.reason}" if unjudged else ""
        yield wrap(f"{stream.verdict}: stream {stream.name}{because}")
        yield from _stream_blocks(stream, limit)


def _stream_blocks(stream: Result | StreamResult, limit: int) -> Iterator[str]:
    first = stream.first_difference or None
    is_explained = any(finding.severity is not Severity.NOTE for finding in stream.findings)
    if stream.verdict in _DIFFERENT and not is_explained:
        told = [*first_difference_lines(first), *level_lines(stream.first_differences or {})]
        yield "\n".join([wrap(_unexplained(stream)), *told])
        first = None
    elif stream.verdict in _COMPARED and stream.reason:
        yield wrap(f"{stream.reason}.")
    for finding in stream.findings:
        yield "\n".join(_finding_lines(finding, first, limit))
        first = None
    if stream.not_checked:
        yield "\n".join(_unasked_lines(stream.not_checked))
    if stream.not_compared:
        yield wrap(f"not compared: {', '.join(stream.not_compared)}", hanging="  ")


def _unexplained(stream: Result | StreamResult) -> str:
    if stream.reason:
        # Not capitalised: a formula may stand at its head.
        return f"{stream.reason}."
    return "No rule finds a fault." if stream.findings else "No rule names the cause."


def _finding_lines(finding: Finding, first: FirstDifference | None, limit: int) -> Iterator[str]:
    baseline = ", in the baseline" if finding.run == "a" else ""
    yield wrap(f"{finding.rule} ({finding.severity}{baseline})")
    yield wrap(finding.message, indent="  ")
    if finding.cause and finding.cause not in finding.message:
        yield wrap(finding.cause, indent="  ")
    width = label_width(evidence_labels(finding.evidence))
    yield from evidence_lines(finding.evidence, limit, width)
    yield from first_difference_lines(first, width)
    if finding.confirm:
        yield labelled("confirm with", finding.confirm, width)


def _unasked_lines(skipped: Sequence[NotChecked]) -> Iterator[str]:
    """Yield what was lacking, and beside it the rules that could not be asked without it."""
    rules: dict[str, list[str]] = {}
    for one in skipped:
        rules.setdefault(", ".join(one.missing), []).append(one.rule)
    yield "not checked, for lack of"
    width = label_width(rules)
    yield from (labelled(lacking, ", ".join(names), width) for lacking, names in rules.items())


def _leave(block: str) -> str:
    return block


def _paint(block: str) -> str:
    """Colour the verdict at the head of a block, or the severity behind a rule's name."""
    head, _, rest = block.partition("\n")
    for word in (*Verdict, *Severity):
        code = f"\x1b[{_COLORS.get(word, _RED)}m{word}\x1b[0m"
        if head.startswith((f"{word}: ", f"{word} {PARTIAL}")):
            head = code + head.removeprefix(word)
        elif f" ({word}" in head and isinstance(word, Severity):
            head = head.replace(f" ({word}", f" ({code}", 1)
        else:
            continue
        break
    return f"{head}\n{rest}" if rest else head
