"""What an audit says: findings, verdicts and the result that reports render.

A result is plain data. It is made by the audits, rendered by the reports and
written as JSON; `SCHEMA_VERSION` counts the forms that JSON has had:

1. the first one.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

__all__ = [
    "SCHEMA_VERSION",
    "Counts",
    "Finding",
    "FirstDifference",
    "JsonValue",
    "NotChecked",
    "Outcome",
    "RecordId",
    "Result",
    "RunSummary",
    "Severity",
    "StreamResult",
    "Verdict",
]

SCHEMA_VERSION = 1

if TYPE_CHECKING:
    JsonValue: TypeAlias = (
        "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
    )
else:
    # The decoder knows no recursive alias; what it decodes is JSON in any case.
    JsonValue = Any
RecordId: TypeAlias = int | str


class Severity(StrEnum):
    """What a finding costs, mildest first."""

    NOTE = "note"
    WARN = "warn"
    FAIL = "fail"

    @property
    def rank(self) -> int:
        """Order of severities: 0 for a note, 2 for a failure."""
        return list(Severity).index(self)


class Verdict(StrEnum):
    """The answer to an audit (the first six, best first) or a check (the last two)."""

    IDENTICAL = "identical"
    EQUIVALENT = "equivalent"
    REGROUPED = "regrouped"
    REORDERED = "reordered"
    CHANGED = "changed"
    INCONCLUSIVE = "inconclusive"
    CLEAN = "clean"
    FINDINGS = "findings"


class Outcome(StrEnum):
    """What a decision says: whether a difference counts."""

    HOLDS = "holds"
    """The equivalence that was asked for holds."""
    ACCEPTED = "accepted"
    """The project accepts the difference."""
    UNKNOWN = "unknown"
    """Whether the equivalence holds cannot be told."""
    EXPIRED = "expired"
    """The project accepted the difference for a time that is over."""
    BROKEN = "broken"
    """The equivalence does not hold."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One fault, with the measurement that shows it and the cause it points to.

    Attributes:
        rule: name of the rule, such as "implicit-partitioning".
        severity: what it costs.
        run: "a" for the baseline, "b" for the other run, None in a check of one run.
        message: what was measured, in sentences that a colleague would say.
        cause: the hypothesis, in one sentence.
        evidence: numbers, IDs and rows behind the message; the rule's docstring lists the keys.
        confirm: a command that would confirm the cause, where there is one.
    """

    rule: str
    severity: Severity
    run: str | None = None
    message: str
    cause: str
    evidence: dict[str, JsonValue] = {}
    confirm: str | None = None


class NotChecked(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that could not be asked, and the fields (or the evidence) that it lacked."""

    rule: str
    missing: list[str]


class FirstDifference(msgspec.Struct, frozen=True, kw_only=True):
    """The first row, in canonical order, at which two runs differ.

    Digests stand as decimal strings, record IDs in their own type; None where
    a run has no such row or no such value.
    """

    row: int
    epoch: int | None
    batch: int | None
    column: str
    a: JsonValue
    b: JsonValue


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How many rows differ, and in which way.

    Attributes:
        moved: rows that both runs have but which lie outside their longest common subsequence.
        missing: rows of the baseline that the other run lacks.
        extra: rows of the other run whose record the baseline has not in that epoch.
        duplicated: rows of the other run beyond the times that the baseline has that record.
        substituted: places at which a missing record was replaced by another, at equal length.
        content: rows of the same record, with equal draws, that hold other content.
        draws: rows whose draws differ, unless draws merely follow the position.
        batches: rows that stand in another batch.
    """

    moved: int = 0
    missing: int = 0
    extra: int = 0
    duplicated: int = 0
    substituted: int = 0
    content: int = 0
    draws: int = 0
    batches: int = 0


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One run of an audit: where it lies, how many rows it has, what proves them."""

    path: str
    rows: int
    complete: bool
    fingerprint: str | None


class StreamResult(msgspec.Struct, frozen=True, kw_only=True):
    """The answer for one stream of the runs."""

    name: str
    verdict: Verdict
    coverage: float | msgspec.UnsetType = msgspec.UNSET
    reason: str | None = None
    first_difference: FirstDifference | msgspec.UnsetType | None = msgspec.UNSET
    differences: Counts | msgspec.UnsetType = msgspec.UNSET
    findings: list[Finding] = []
    not_checked: list[NotChecked] = []
    not_compared: list[str] | msgspec.UnsetType = msgspec.UNSET


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of one command; the top level repeats the worst of its streams.

    Attributes:
        verified: whether every block was read and proved, not headers alone.
        coverage: compared rows over the rows of the longer run, 0 to 1.
        reason: why nothing could be judged, where the verdict is `inconclusive`; else what
            there is to say where no rule names a cause.
        comparisons: with more than two runs, the result of each against the baseline.
        axes: filled by `replay`.
        decision: what follows, in a sentence: of `preflight`, of an equivalence that was asked
            for, or of differences that the project accepts.
        outcome: the kind of decision, where an audit has one.
    """

    schema_version: int = SCHEMA_VERSION
    command: str
    verdict: Verdict
    verified: bool = False
    coverage: float | msgspec.UnsetType = msgspec.UNSET
    reason: str | None = None
    runs: list[RunSummary]
    first_difference: FirstDifference | msgspec.UnsetType | None = msgspec.UNSET
    differences: Counts | msgspec.UnsetType = msgspec.UNSET
    findings: list[Finding] = []
    not_checked: list[NotChecked] = []
    not_compared: list[str] | msgspec.UnsetType = msgspec.UNSET
    streams: list[StreamResult] = []
    comparisons: list[Result] | msgspec.UnsetType = msgspec.UNSET
    axes: list[JsonValue] = []
    decision: str | None = None
    outcome: Outcome | msgspec.UnsetType = msgspec.UNSET
