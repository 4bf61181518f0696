"""The answer for one stream whose rows have to be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from detloader.audits.asking import Answers, ask_about_difference, ask_about_headers
from detloader.audits.compare import compare
from detloader.audits.explain import explain
from detloader.audits.extent import tell_epoch_lengths, tell_extent, tell_shorter_epochs
from detloader.audits.first import first_difference
from detloader.audits.headers import hidden_differences, not_compared, tell_hidden
from detloader.audits.levels import first_differences
from detloader.audits.merged import tell_merge
from detloader.audits.numbering import number_alike, tell_numbering
from detloader.audits.pairs import NO_COMMON_ROWS, load_pair
from detloader.audits.picture import Scene, take_pictures
from detloader.audits.rule import all_rules, header_rules
from detloader.audits.ruled_out import tell_ruled_out
from detloader.audits.sampled import joined
from detloader.findings import Counts, Severity, StreamResult, Verdict

if TYPE_CHECKING:
    from detloader.audits.compare import Comparison
    from detloader.audits.pairs import Pair
    from detloader.audits.streams import Selection
    from detloader.audits.view import StreamView
    from detloader.manifest.reader import Stream

__all__ = ["audit_rows"]

EXPLAINED = frozenset({Verdict.REGROUPED, Verdict.REORDERED, Verdict.CHANGED})
"""Verdicts whose order may have been made of the baseline's."""


def audit_rows(
    path_a: str, stream_a: Stream, path_b: str, stream_b: Stream, selection: Selection
) -> StreamResult:
    """Compare the rows of two streams, and ask why they differ."""
    pair = load_pair(path_a, stream_a, path_b, stream_b)
    if not pair.coverage:
        return _result(pair, Verdict.INCONCLUSIVE, NO_COMMON_ROWS)
    comparison = compare(pair.common_a, number_alike(pair.common_a, pair.common_b))
    result = _audit_pair(pair, comparison, selection)
    if numbering := pair.tell_numbering():
        result = msgspec.structs.replace(result, reason=joined(result.reason, numbering))
    if comparison.b is not pair.common_b:
        result = _with_numbering(result, pair.common_a, pair.common_b)
    if not selection.pictures:
        return result
    scene = Scene(a=pair.a, b=pair.b, comparison=comparison)
    return msgspec.structs.replace(result, pictures=take_pictures(scene))


def _audit_pair(pair: Pair, comparison: Comparison, selection: Selection) -> StreamResult:
    stream_a, stream_b = pair.a.stream, pair.b.stream
    if comparison.verdict is not Verdict.IDENTICAL:
        answers = ask_about_difference(selection.choose(all_rules()), pair.a, pair.b, comparison)
        formula = _explain(comparison, answers)
        told = tell_extent(comparison) or formula or tell_shorter_epochs(comparison)
        told = told or pair.tell_restart() or tell_epoch_lengths(comparison, answers.findings)
        told = told or tell_ruled_out(comparison, answers.findings)
        told = told or tell_merge(comparison, answers.findings)
        return _result(pair, comparison.verdict, told, comparison, answers)
    answers = ask_about_headers(selection.choose(header_rules()), stream_a, stream_b)
    if hidden := tell_hidden(stream_a, stream_b):
        return _result(pair, Verdict.CHANGED, hidden, comparison, answers)
    told = tell_extent(comparison) or pair.tell_restart()
    return _result(pair, Verdict.IDENTICAL, told, comparison, answers)


def _with_numbering(result: StreamResult, a: StreamView, b: StreamView) -> StreamResult:
    """Say that epochs have other numbers, which makes identical rows no identical runs."""
    same = result.verdict is Verdict.IDENTICAL
    so = "all else is the same" if same else "were compared in their order"
    reason = joined(f"{tell_numbering(a, b)}, and {so}: number them alike", result.reason)
    if not same:
        return msgspec.structs.replace(result, reason=reason)
    first = first_difference(a, b)
    return msgspec.structs.replace(
        result, verdict=Verdict.CHANGED, reason=reason, first_difference=first
    )


def _explain(comparison: Comparison, answers: Answers) -> str | None:
    """State the formula that explains the order with the cause; give it where none was found."""
    if comparison.verdict not in EXPLAINED:
        return None
    loud = (finding for finding in answers.findings if finding.severity is not Severity.NOTE)
    cause = next(loud, None)
    if cause is not None and "formula" in cause.evidence:
        return None
    explanation = explain(comparison)
    if explanation is None:
        return None
    if cause is None:
        what = "finds a fault" if answers.findings else "names a cause"
        return f"{explanation.sentence}, but no rule {what}"
    told = explanation.evidence
    if cause.evidence.get("rows", explanation.rows) != explanation.rows:
        # The rule counts other rows under that name: a share of these would be wrong.
        told = {name: told[name] for name in ("formula", "ties")}
    place = answers.findings.index(cause)
    answers.findings[place] = msgspec.structs.replace(cause, evidence=cause.evidence | told)
    return None


def _result(
    pair: Pair,
    verdict: Verdict,
    reason: str | None,
    comparison: Comparison | None = None,
    answers: Answers | None = None,
) -> StreamResult:
    stream_a, stream_b = pair.a.stream, pair.b.stream
    unread = [*not_compared(stream_a, stream_b), *hidden_differences(stream_a, stream_b)]
    return StreamResult(
        name=stream_a.name,
        verdict=verdict,
        coverage=pair.coverage,
        reason=reason,
        first_difference=comparison.first_difference if comparison else None,
        first_differences=first_differences(comparison) if comparison else {},
        differences=comparison.counts if comparison else Counts(),
        findings=answers.findings if answers else [],
        not_checked=answers.not_checked if answers else [],
        not_compared=unread,
        asked=answers.asked if answers else [],
    )
