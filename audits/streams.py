"""The answer for one stream: of one run, or of two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from detloader.audits.asking import Answers, ask_about_headers
from detloader.audits.headers import (
    compared_columns,
    difference_levels,
    lacks_ranks,
    not_compared,
    tell_no_rows,
    tell_unfinished,
    unequal_digests,
)
from detloader.audits.picture import Scene, pictures_of_equal, take_pictures
from detloader.audits.rule import all_rules, header_rules
from detloader.audits.sampled import joined, tell_thinned, tell_unlike_steps
from detloader.audits.stand_ins import are_digests
from detloader.findings import Counts, Severity, StreamResult, Verdict
from detloader.manifest.schema import Level

if TYPE_CHECKING:
    from collections.abc import Iterable

    from detloader.audits.rule import Rule
    from detloader.manifest.reader import Stream

__all__ = ["Selection", "audit_stream", "check_stream", "lonely_stream"]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rules to ask, and what else the answer has.

    Attributes:
        select: names of the rules to ask; all where none is named.
        ignore: names of the rules to leave out.
        pictures: whether the answer has what pictures are drawn from.
        first: whether it has the first difference alone.
    """

    select: frozenset[str] = frozenset()
    ignore: frozenset[str] = frozenset()
    pictures: bool = False
    first: bool = False

    def choose(self, rules: Iterable[Rule]) -> list[Rule]:
        """Keep the rules that are to be asked."""
        return [rule for rule in rules if self.wants(rule.name)]

    def wants(self, rule: str) -> bool:
        """Tell whether the rule of this name is to be asked."""
        return rule not in self.ignore and (not self.select or rule in self.select)


def check_stream(path: str, stream: Stream, selection: Selection) -> StreamResult:
    """Ask the rules about one stream of one run."""
    if reason := _unreadable(path, stream):
        return StreamResult(name=stream.name, verdict=Verdict.INCONCLUSIVE, reason=reason)
    from detloader.audits.asking import ask_about_run
    from detloader.audits.view import load_views

    (view,) = load_views([(path, stream)])
    answers = ask_about_run(selection.choose(all_rules()), view)
    return StreamResult(
        name=stream.name,
        verdict=_judge(stream, answers),
        reason=joined(tell_unfinished(path, stream), tell_thinned(path, stream)),
        findings=answers.findings,
        not_checked=answers.not_checked,
        asked=answers.asked,
        pictures=take_pictures(Scene(a=view)) if selection.pictures else msgspec.UNSET,
    )


def _judge(stream: Stream, answers: Answers) -> Verdict:
    if any(finding.severity is not Severity.NOTE for finding in answers.findings):
        return Verdict.FINDINGS
    # Rank 0 alone may evaluate; of a stream that others have, too, each has a part.
    shared = [rank.header.rank for rank in stream.ranks] != [0]
    return Verdict.INCONCLUSIVE if shared and lacks_ranks(stream) else Verdict.CLEAN


def _unreadable(path: str, stream: Stream) -> str | None:
    if stream.level is Level.DIGEST:
        return f"{path} was recorded at level digest: its rows were not kept; record at level order"
    return tell_no_rows(path, stream)


def lonely_stream(stream: Stream, *, path: str, in_baseline: bool) -> StreamResult:
    """Answer for a stream that only one run has; `path` is the run that lacks it."""
    rows = stream.rows
    return StreamResult(
        name=stream.name,
        verdict=Verdict.CHANGED,
        coverage=0.0,
        reason=f"{path} has no stream {stream.name!r}",
        first_difference=None,
        first_differences={},
        differences=Counts(missing=rows) if in_baseline else Counts(extra=rows),
        not_compared=[],
    )


def audit_stream(
    path_a: str, stream_a: Stream, path_b: str, stream_b: Stream, selection: Selection
) -> StreamResult:
    """Compare one stream of two runs, and ask why they differ.

    Equal streams are told equal from their headers; no row is read.
    """
    if reason := _incomparable(path_a, stream_a, path_b, stream_b):
        return _unread(stream_a, stream_b, Verdict.INCONCLUSIVE, reason)
    unequal = unequal_digests(stream_a, stream_b)
    if unequal == [] and stream_a.rows == stream_b.rows:
        answers = ask_about_headers(selection.choose(header_rules()), stream_a, stream_b)
        result = _equal(stream_a, stream_b, answers)
        if not selection.pictures:
            return result
        pictures = pictures_of_equal(path_a, stream_a, path_b, stream_b)
        return msgspec.structs.replace(result, pictures=pictures)
    if Level.DIGEST in {stream_a.level, stream_b.level}:
        return _unkept(stream_a, stream_b, unequal)
    if selection.first:
        from detloader.audits.first_only import audit_first

        return audit_first(path_a, stream_a, path_b, stream_b, selection)
    from detloader.audits.difference import audit_rows

    return audit_rows(path_a, stream_a, path_b, stream_b, selection)


def _incomparable(path_a: str, stream_a: Stream, path_b: str, stream_b: Stream) -> str | None:
    for path, stream in ((path_a, stream_a), (path_b, stream_b)):
        if not stream.rows and not stream.complete:
            return tell_no_rows(path, stream)
    if stream_a.id_hashes != stream_b.id_hashes or len(stream_a.id_hashes) > 1:
        return (
            f"record IDs are {_as_kept(stream_a)} in {path_a} and {_as_kept(stream_b)} in "
            f"{path_b}: record or import both with one --id-hash"
        )
    type_a, type_b = stream_a.columns.get("record"), stream_b.columns.get("record")
    if type_a and type_b and type_a != type_b:
        return (
            f"record IDs are {type_a} in {path_a} and {type_b} in {path_b}: "
            "record or import both with one type of ID, or join them with --id-map"
        )
    if stream_a.roundings != stream_b.roundings and are_digests(stream_a):
        return (
            f"record IDs are digests of content, which {path_a} and {path_b} digested otherwise: "
            "record both with one digest and one rounding, or with ids"
        )
    return tell_unlike_steps(path_a, stream_a, path_b, stream_b)


def _as_kept(stream: Stream) -> str:
    """Say how record IDs were kept."""
    keys = [f"digests under key {key}" if key else "as they are" for key in stream.id_hashes]
    return " or ".join(sorted(keys))


def _equal(stream_a: Stream, stream_b: Stream, answers: Answers) -> StreamResult:
    return StreamResult(
        name=stream_a.name,
        verdict=Verdict.IDENTICAL,
        coverage=_share_recorded(stream_a, stream_b),
        first_difference=None,
        first_differences=dict.fromkeys(difference_levels(compared_columns(stream_a, stream_b))),
        differences=Counts(),
        findings=answers.findings,
        not_checked=answers.not_checked,
        not_compared=not_compared(stream_a, stream_b),
        asked=answers.asked,
    )


def _share_recorded(stream_a: Stream, stream_b: Stream) -> float:
    """Tell which part equal rows are of the longer run, whose other rows nobody can compare."""
    longer = max(stream_a.delivered, stream_b.delivered)
    return stream_a.rows / longer if longer else 1.0


def _unkept(stream_a: Stream, stream_b: Stream, unequal: list[str] | None) -> StreamResult:
    if stream_a.samplings != stream_b.samplings:
        reason = "unlike parts were recorded, and rows were not kept: record both at level order"
        return _unread(stream_a, stream_b, Verdict.INCONCLUSIVE, reason)
    if unequal is None:
        reason = "a run of level digest has no digest until it is complete: audit it then"
        return _unread(stream_a, stream_b, Verdict.INCONCLUSIVE, reason)
    what = f"digests of {', '.join(unequal)} differ" if unequal else "the numbers of rows differ"
    reason = f"{what}; rows were not kept (level digest): record at level order to see which"
    return _unread(stream_a, stream_b, Verdict.CHANGED, reason)


def _unread(stream_a: Stream, stream_b: Stream, verdict: Verdict, reason: str) -> StreamResult:
    return StreamResult(
        name=stream_a.name,
        verdict=verdict,
        coverage=0.0,
        reason=reason,
        first_difference=None,
        first_differences={},
        differences=Counts(),
        not_compared=not_compared(stream_a, stream_b),
    )
