"""Differences that a project knows of, and accepts for a time, with a reason.

They are kept in a file of the project that is made to be committed. A difference is known by
an ID: a digest over what identifies it. Paths, messages and commands are no part of it, so a
result has the same ID wherever its runs lie. The runs' fingerprints are, so a difference
between other runs has another ID and is never covered.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from typing import TYPE_CHECKING

import msgspec

from detloader.audits.decisions import decide_each
from detloader.audits.equivalence import describe_counts
from detloader.errors import UsageError
from detloader.findings import SCHEMA_VERSION, Counts, Outcome, Result, Severity, Verdict
from detloader.manifest.layout import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from detloader.findings import JsonValue, StreamResult

__all__ = [
    "FILE_NAME",
    "Acceptance",
    "accept",
    "difference_id",
    "load",
    "read_result",
    "save",
    "with_acceptances",
]

FILE_NAME = "detloader-accepted.json"
"""Name of the file in the project's folder."""

_ID_DIGITS = 16
_ALIKE = frozenset({Verdict.IDENTICAL, Verdict.EQUIVALENT})


class Acceptance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One accepted difference.

    Attributes:
        id: digest over what identifies the difference, 16 hexadecimal digits.
        rules: names of the rules that found something, in causal order.
        verdict: of the stream that differs.
        difference: what differs, for whoever reads the file.
        reason: why it is accepted.
        until: last day on which it is.
    """

    id: str
    rules: list[str]
    verdict: Verdict
    difference: str
    reason: str
    until: dt.date


class _Book(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file; `version` counts its forms."""

    version: int = 1
    accepted: list[Acceptance] = []


class _Versioned(msgspec.Struct):
    """What results of every version have."""

    schema_version: int


def difference_id(result: Result, stream: StreamResult) -> str:
    """Return the ID of what differs in one stream of two runs."""
    found = [[finding.rule, finding.run, _lasting(finding.evidence)] for finding in stream.findings]
    identity = {
        "command": result.command,
        "stream": stream.name,
        "verdict": stream.verdict,
        "fingerprints": [run.fingerprint for run in result.runs],
        "differences": stream.differences or Counts(),
        "findings": sorted(found, key=_canonical),
    }
    return hashlib.sha256(_canonical(identity)).hexdigest()[:_ID_DIGITS]


def accept(result: Result, *, reason: str, until: dt.date, today: dt.date) -> list[Acceptance]:
    """Accept every difference of an audit.

    Args:
        result: what an audit gave.
        reason: why; white space is evened out.
        until: last day on which the differences are accepted.
        today: the day on which this is asked.

    Raises:
        UsageError: the reason is empty, the day is over, or there is no difference that could
            be known again.
    """
    reason = " ".join(reason.split())
    if not reason:
        raise UsageError("the reason is empty: say why the difference is accepted")
    if until < today:
        raise UsageError(f"{until} is over: name today, or a later day")
    if result.command != "audit":
        raise UsageError(f"this is a result of {result.command}: only an audit can be accepted")
    entries = [
        _entry(comparison, stream, reason, until)
        for comparison in result.comparisons or [result]
        for stream in _differing(comparison)
    ]
    if not entries:
        raise UsageError(f"the verdict is {result.verdict}: there is no difference to accept")
    return entries


def with_acceptances(
    result: Result, accepted: Mapping[str, Acceptance], *, today: dt.date
) -> Result:
    """Say in `decision` and `outcome` of an audit which differences are accepted.

    Args:
        result: what an audit gave; a decision that it has already is kept in front.
        accepted: acceptances by ID.
        today: the day on which this is asked.
    """
    return decide_each(result, lambda comparison: _decide(comparison, accepted, today))


def load(path: Path) -> dict[str, Acceptance]:
    """Read the acceptances of a project by ID; none where there is no such file.

    Raises:
        UsageError: the file cannot be read.
    """
    try:
        book = msgspec.json.decode(path.read_bytes(), type=_Book)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}; mend it or restore it") from error
    if book.version != _Book().version:
        raise UsageError(f"{path} has version {book.version}: a newer detloader wrote it")
    found: dict[str, Acceptance] = {}
    for entry in book.accepted:
        if entry.id in found:
            raise UsageError(f"{path} has {entry.id} twice: leave one out")
        found[entry.id] = entry
    return found


def save(path: Path, accepted: Iterable[Acceptance]) -> None:
    """Write acceptances, sorted by ID, whole or not at all.

    Raises:
        UsageError: the file cannot be written.
    """
    book = _Book(accepted=sorted(accepted, key=lambda entry: entry.id))
    text = msgspec.json.format(_canonical(book), indent=2) + b"\n"
    try:
        write_atomically(path, text)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error


def read_result(path: Path) -> Result:
    """Read a result that was written as JSON.

    Raises:
        UsageError: there is none, or another version of detloader wrote it.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        version = msgspec.json.decode(data, type=_Versioned).schema_version
        if version != SCHEMA_VERSION:
            raise UsageError(
                f"{path} has schema_version {version}, and this detloader reads {SCHEMA_VERSION}: "
                "audit the runs again"
            )
        result = msgspec.json.decode(data, type=Result)
    except (UnicodeDecodeError, RecursionError, msgspec.DecodeError) as error:
        raise UsageError(f"{path} holds no result ({error}): write one with --json") from error
    for one in [result, *(result.comparisons or [])]:
        if len(one.runs) < (2 if one.command == "audit" else 1):
            raise UsageError(f"{path} holds no result (a run is missing): write one with --json")
    return result


def _differing(result: Result) -> list[StreamResult]:
    """Give the streams with a difference that counts."""
    return [
        stream
        for stream in result.streams
        if stream.verdict is not Verdict.INCONCLUSIVE
        and (stream.verdict not in _ALIKE or _is_loud(stream))
    ]


def _is_loud(stream: StreamResult) -> bool:
    return any(finding.severity is not Severity.NOTE for finding in stream.findings)


def _entry(result: Result, stream: StreamResult, reason: str, until: dt.date) -> Acceptance:
    for run in result.runs:
        if run.fingerprint is None:
            raise UsageError(
                f"{run.path} is open and may go on to differ: accept the result of complete runs"
            )
    rules = dict.fromkeys(finding.rule for finding in stream.findings)
    counts = describe_counts(stream.differences or Counts())
    return Acceptance(
        id=difference_id(result, stream),
        rules=[*rules],
        verdict=stream.verdict,
        difference=f"stream {stream.name}: {counts or stream.verdict}",
        reason=reason,
        until=until,
    )


def _decide(result: Result, accepted: Mapping[str, Acceptance], today: dt.date) -> Result:
    found = {
        stream.name: accepted.get(difference_id(result, stream)) for stream in _differing(result)
    }
    known = {name: entry for name, entry in found.items() if entry is not None}
    if not known:
        return result
    sentences = {name: _sentence(entry, today) for name, entry in known.items()}
    alone = found.keys() == known.keys() and len({*sentences.values()}) == 1
    told = [said if alone else f"stream {name} {said}" for name, said in sentences.items()]
    decisions = dict.fromkeys([*([result.decision] if result.decision else []), *told])
    outcome = result.outcome
    if found.keys() == known.keys() and all(entry.until >= today for entry in known.values()):
        outcome = Outcome.ACCEPTED
    elif outcome is msgspec.UNSET and any(entry.until < today for entry in known.values()):
        outcome = Outcome.EXPIRED
    return msgspec.structs.replace(result, decision="; ".join(decisions), outcome=outcome)


def _sentence(entry: Acceptance, today: dt.date) -> str:
    if entry.until < today:
        return f"was accepted until {entry.until}, which is over: {entry.reason}"
    return f"accepted until {entry.until}: {entry.reason}"


def _lasting(evidence: Mapping[str, JsonValue]) -> JsonValue:
    """Return evidence as JSON has it, without any text that could be a path."""
    return _without_paths(msgspec.json.decode(msgspec.json.encode(evidence)))


def _without_paths(value: JsonValue) -> JsonValue:
    match value:
        case dict():
            kept = {key: _without_paths(item) for key, item in value.items() if not _is_path(key)}
            return {key: item for key, item in kept.items() if item is not None}
        case list():
            return [_without_paths(item) for item in value]
        case str() if _is_path(value):
            return None
    return value


def _is_path(text: str) -> bool:
    return "/" in text or "\\" in text


def _canonical(value: object) -> bytes:
    return msgspec.json.encode(value, order="sorted")
