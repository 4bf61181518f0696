"""Audits and checks: runs are opened, their streams paired and asked, the worst put on top."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING

import msgspec

from detloader.audits.arguments import with_arguments
from detloader.audits.asking import shared_last
from detloader.audits.decisions import repeat_on_top
from detloader.audits.equivalence import Equivalence, as_equivalence, judge, same_ranks
from detloader.audits.headers import compared_columns, is_open, tell_no_rows
from detloader.audits.pairing import doubts_of, name_of_pair, paired, tell_doubt, tell_doubtful
from detloader.audits.rule import page_of, rule_names
from detloader.audits.sampled import joined, with_thinned
from detloader.audits.stand_ins import without_unlike
from detloader.audits.streams import Selection, audit_stream, check_stream, lonely_stream
from detloader.errors import UsageError
from detloader.findings import Counts, NotChecked, Result, RunSummary, StreamResult, Verdict
from detloader.manifest.reader import Run, Stream, open_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from detloader.audits.naming import Names

__all__ = ["BADNESS", "audit", "check", "selection_of", "summary"]

BADNESS = {
    verdict: rank
    for rank, verdict in enumerate(
        (
            Verdict.CLEAN,
            Verdict.IDENTICAL,
            Verdict.EQUIVALENT,
            Verdict.INCONCLUSIVE,
            Verdict.REGROUPED,
            Verdict.REORDERED,
            Verdict.CHANGED,
            Verdict.FINDINGS,
        )
    )
}
"""Which verdict stands on top: a difference that was found outweighs what could not be judged."""


def audit(
    run_a: str | os.PathLike[str] | Run,
    run_b: str | os.PathLike[str] | Run,
    *more: str | os.PathLike[str] | Run,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    equivalence: str | None = None,
    verify: bool = False,
    pictures: bool = False,
    first: bool = False,
    id_map: Names | None = None,
) -> Result:
    """Compare runs with the first one, and name the cause where they differ.

    Streams of one name are compared. Where streams have the names of lines, and both runs have
    some of as many lines of a file, they are paired by the order of the lines: a program that
    was edited has others.

    Args:
        run_a: the baseline.
        run_b: the run that is compared with it.
        *more: further runs, each compared with the baseline.
        select: names of the rules to ask; all where none is named.
        ignore: names of the rules to leave out.
        equivalence: how alike the runs have to be, such as "same-set"; `decision` and `outcome`
            of the answer say whether they are. `detloader.audits.equivalence` has the names.
        verify: read every block of every run and prove its digest, too.
        pictures: give what pictures are drawn from, too; rows of equal runs are then read.
        first: look for the first difference only, in the blocks that headers say differ: rules
            are not asked, rows not counted, and runs that differ are `changed`, however they do.
        id_map: from the names that records have in the first run to those in the others, whose
            IDs are then read under the first run's names; or a file (CSV, JSON lines, Parquet)
            with both in the columns `a` and `b`, or else in its first two.

    Returns:
        The answer, in the form of `detloader.findings.Result`. With more than two runs,
        `comparisons` has one result for each, and the top level repeats the worst.

    Raises:
        RunNotFoundError: a path holds no run.
        DamageError: the bytes of a run are not those that were recorded.
        UsageError: a rule, or an equivalence, is named that does not exist, or the first
            difference alone is to be looked for, which tells no equivalence and has no
            pictures; or names are mapped that the runs do not have, or not one to one.
        LogError: the file of names cannot be read.
    """
    selection = selection_of(select, ignore, pictures=pictures, first=first)
    asked = None if equivalence is None else as_equivalence(equivalence)
    if first and (asked is not None or pictures):
        what = "pictures" if asked is None else f"whether {asked} holds"
        raise UsageError(f"the first difference alone does not give {what}: leave one of them out")
    runs = [_open(run, verify=verify) for run in (run_a, run_b, *more)]
    runs[1:] = [paired(runs[0], run) for run in runs[1:]]
    if id_map is not None:
        runs[1:] = _renamed(runs, id_map)
    results = [_audit_pair(runs[0], run, selection, verified=verify) for run in runs[1:]]
    if asked is not None:
        results = [
            _judge(result, asked, runs[0], run)
            for result, run in zip(results, runs[1:], strict=True)
        ]
    if len(results) == 1:
        return results[0]
    worst = max(results, key=_badness)
    whole = msgspec.structs.replace(worst, runs=[summary(run) for run in runs])
    return repeat_on_top(whole, results)


def check(
    run: str | os.PathLike[str] | Run,
    *,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    pictures: bool = False,
) -> Result:
    """Ask the rules that one run alone can answer.

    Args:
        run: the run.
        select: names of the rules to ask; all where none is named.
        ignore: names of the rules to leave out.
        pictures: give what pictures are drawn from, too.

    Returns:
        The answer; its verdict is `clean` where no finding is above a note, `findings`
        where one is, `inconclusive` where the run has no rows to judge, or where a stream of
        several ranks lacks some that the run is known to have had.

    Raises:
        RunNotFoundError: the path holds no run.
        DamageError: the bytes of the run are not those that were recorded.
        UsageError: a rule is named that does not exist.
    """
    selection = selection_of(select, ignore, pictures=pictures)
    opened = _open(run, verify=False)
    streams = [check_stream(opened.path, stream, selection) for stream in opened.streams.values()]
    return _put_together("check", [opened], streams)


def _open(run: str | os.PathLike[str] | Run, *, verify: bool) -> Run:
    opened = run if isinstance(run, Run) else open_run(run)
    if verify:
        from detloader.manifest.verify import verify_run

        verify_run(opened)
    return opened


def selection_of(
    select: Iterable[str], ignore: Iterable[str], *, pictures: bool = False, first: bool = False
) -> Selection:
    """Return which rules are to be asked.

    Raises:
        UsageError: a rule is named that does not exist.
    """
    chosen = Selection(frozenset(select), frozenset(ignore), pictures, first)
    if not chosen.select and not chosen.ignore:
        return chosen
    unknown = sorted((chosen.select | chosen.ignore) - set(rule_names()))
    if unknown:
        known = ", ".join(sorted(rule_names()))
        raise UsageError(f"there is no rule {unknown[0]!r}: the rules are {known}")
    return chosen


def _audit_pair(a: Run, b: Run, selection: Selection, *, verified: bool) -> Result:
    if not a.rows and not b.rows:
        reason = _tell_cut_off(a, b) or "neither run has a row: let the loaders deliver one"
        return _put_together("audit", [a, b], [], reason=reason, verified=verified)
    names = dict.fromkeys([*a.streams, *b.streams])
    streams = [_audit_stream(name, a, b, selection) for name in names]
    doubts = doubts_of(a, b)
    streams = [_with_doubt(stream, doubts) for stream in streams]
    return _put_together("audit", [a, b], streams, verified=verified)


def _with_doubt(result: StreamResult, doubts: dict[str, str]) -> StreamResult:
    if result.verdict is Verdict.IDENTICAL:
        return result
    doubt = tell_doubt(result.name, doubts)
    if result.verdict is Verdict.CHANGED:
        doubt = doubt or tell_doubtful(result.name)
    reason = joined(result.reason, doubt)
    return msgspec.structs.replace(result, reason=reason)


def _tell_cut_off(*runs: Run) -> str | None:
    """Say which run lost all its rows, or was cut off before the first; None where neither was."""
    for run in runs:
        for stream in run.streams.values():
            if stream.lost or is_open(stream):
                return tell_no_rows(run.path, stream)
    return None


def _renamed(runs: Sequence[Run], id_map: Names) -> list[Run]:
    from detloader.audits.naming import load_id_map

    names = load_id_map(id_map)
    return [dataclasses.replace(run, streams=names.rename(runs[0], run)) for run in runs[1:]]


def _judge(result: Result, rule: Equivalence, a: Run, b: Run) -> Result:
    shared = a.streams.keys() & b.streams.keys()
    pairs = [(a.streams[name], b.streams[name]) for name in shared]
    ranks = {name_of_pair(*pair): same_ranks(*pair) for pair in pairs}
    return judge(result, rule, ranks)


def _audit_stream(name: str, a: Run, b: Run, selection: Selection) -> StreamResult:
    stream_a, stream_b = a.streams.get(name), b.streams.get(name)
    if stream_a is None:
        return lonely_stream(b.streams[name], path=a.path, in_baseline=False)
    if stream_b is None:
        return lonely_stream(stream_a, path=b.path, in_baseline=True)
    told_b = without_unlike(stream_a, stream_b)
    result = audit_stream(a.path, stream_a, b.path, told_b, selection)
    result = with_arguments(result, stream_a, stream_b)
    result = with_thinned(result, a.path, stream_a, b.path, stream_b)
    if type(stream_b) is not Stream:
        from detloader.audits.naming import with_own_names

        result = with_own_names(result, b.path, stream_b)
    name = name_of_pair(stream_a, stream_b)
    return msgspec.structs.replace(result, name=name, compared=compared_columns(stream_a, told_b))


def _put_together(
    command: str,
    runs: Sequence[Run],
    streams: list[StreamResult],
    *,
    reason: str | None = None,
    verified: bool = False,
) -> Result:
    """Put the worst stream on top, with the findings of all streams, the worst one's first.

    What both runs share stands behind all of these, for it explains no difference.
    """
    ranked = sorted(streams, key=_badness, reverse=True) or [_nothing(reason)]
    top = ranked[0]
    findings = shared_last(finding for stream in ranked for finding in stream.findings)
    return Result(
        command=command,
        verdict=top.verdict,
        verified=verified,
        coverage=top.coverage,
        reason=_reason_on_top(ranked),
        runs=[summary(run) for run in runs],
        first_difference=top.first_difference,
        first_differences=top.first_differences,
        differences=top.differences,
        findings=findings,
        not_checked=_merge_not_checked(ranked),
        not_compared=top.not_compared,
        streams=streams,
        pages={finding.rule: page_of(finding.rule) for finding in findings},
    )


def _reason_on_top(ranked: Sequence[StreamResult]) -> str | None:
    """Say why what was found may not be all: of several streams, of any that was checked."""
    top = ranked[0]
    if len(ranked) == 1 or top.verdict not in (Verdict.CLEAN, Verdict.FINDINGS):
        return top.reason
    doubtful = (stream for stream in ranked if stream.reason)
    return next((f"in stream {each.name}, {each.reason}" for each in doubtful), None)


def _nothing(reason: str | None) -> StreamResult:
    """Answer for two runs without a row: with the fields that every audit has."""
    return StreamResult(
        name="",
        verdict=Verdict.INCONCLUSIVE,
        coverage=0.0,
        reason=reason,
        first_difference=None,
        first_differences={},
        differences=Counts(),
        not_compared=[],
    )


def _merge_not_checked(streams: Sequence[StreamResult]) -> list[NotChecked]:
    merged: dict[str, dict[str, None]] = {}
    for stream in streams:
        for skipped in stream.not_checked:
            merged.setdefault(skipped.rule, {}).update(dict.fromkeys(skipped.missing))
    return [NotChecked(rule=rule, missing=list(missing)) for rule, missing in merged.items()]


def _badness(result: StreamResult | Result) -> tuple[int, int]:
    worst = max((finding.severity.rank for finding in result.findings), default=-1)
    return BADNESS[result.verdict], worst


def summary(run: Run) -> RunSummary:
    """Say of a run what results say of it."""
    return RunSummary(
        path=run.path, rows=run.rows, complete=run.complete, fingerprint=run.fingerprint
    )
