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
    "AxisOutcome",
    "AxisResult",
    "Counts",
    "DifferenceLevel",
    "Finding",
    "FirstDifference",
    "FirstDifferences",
    "JsonValue",
    "NotChecked",
    "Outcome",
    "Picture",
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


class DifferenceLevel(StrEnum):
    """In what two runs can differ; each has a first row, in canonical order, that shows it."""

    SET = "set"
    """Which records come in each epoch, and how often: the first row that is one too many."""
    ORDER = "order"
    """Which record comes when: the first row that is another record, or of another epoch."""
    BATCHES_AS_SETS = "batches_as_sets"
    """Which records each global batch has, in any order: in the first batch that has others, the
    first row that is one too many."""
    BATCHES = "batches"
    """Which records each batch has, in their order: the first row at which a batch begins in one
    run alone, or that is another record."""
    DRAWS = "draws"
    """The draws, given what they follow: where they do not follow the place, the first record
    with others."""
    CONTENT = "content"
    """The content, given record and draws: the first record of equal draws with other content."""
    RAW = "raw"
    """What was read, given the record: the first record of which something else was read."""


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


class AxisOutcome(StrEnum):
    """What came of a replay under another condition."""

    HOLDS = "holds"
    """The run is as it should be."""
    BROKEN = "broken"
    """It is not."""
    DIED = "died"
    """There is no such run: the replay failed, hung or was killed."""
    NOT_RUN = "not-run"
    """The budget was spent before."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One fault, with the measurement that shows it and the cause it points to.

    Attributes:
        rule: name of the rule, such as "implicit-partitioning".
        severity: what it costs.
        run: "a" for the baseline, "b" for the other run; None in a check of one run, and for what
            both runs of an audit share.
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
    a run has no such row or no such value. Where a record stands at another row
    of the other run, the row is the baseline's.
    """

    row: int
    epoch: int | None
    batch: int | None
    column: str
    a: JsonValue
    b: JsonValue


FirstDifferences: TypeAlias = dict[DifferenceLevel, FirstDifference | None]


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

    @property
    def other_records(self) -> bool:
        """Tell whether an epoch of the two runs has other records, or one of them more often."""
        return bool(self.missing or self.extra or self.duplicated or self.substituted)


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """What one picture shows: a sentence, and the table that it is drawn from.

    However long the runs are, a table has a few hundred cells.

    Attributes:
        name: name of the picture, such as "order-map".
        title: what it is about.
        sentence: what it shows of these runs.
        columns: headings of the table.
        rows: the table, row by row; each row has a cell for every column.
        axes: what else drawing it takes, such as the ends of an axis.
    """

    name: str
    title: str
    sentence: str
    columns: list[str]
    rows: list[list[JsonValue]]
    axes: dict[str, JsonValue] = {}


class AxisResult(msgspec.Struct, frozen=True, kw_only=True):
    """A replay under other conditions: one axis, or several that break a run only together.

    Attributes:
        settings: value of each axis that was varied.
        outcome: what came of it.
        asks: what was asked of the run, such as "same rows".
        compared_with: the unvaried run.
        verdict: how its run compares; None where there was none.
        reason: what differs, why the replay died, or why it was not run.
        last_lines: what a replay that died printed last.
        findings: what the audit of its run says.
        run: folder of its run, where it was kept.
    """

    settings: dict[str, JsonValue]
    outcome: AxisOutcome
    asks: str
    compared_with: str
    verdict: Verdict | None = None
    reason: str | None = None
    last_lines: list[str] = []
    findings: list[Finding] = []
    run: str | None = None


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One run of an audit: where it lies, how many rows it has, what proves them."""

    path: str
    rows: int
    complete: bool
    fingerprint: str | None


class StreamResult(msgspec.Struct, frozen=True, kw_only=True):
    """The answer for one stream of the runs.

    Attributes:
        first_difference: the first row that differs; None where none does.
        first_differences: the first row that differs at each level of difference; None where the
            runs are equal at it. A level that cannot be told is left out; unset where the first
            difference alone was looked for.
        asked: names of the rules that were asked, in causal order.
        compared: columns in which rows were compared.
        pictures: what pictures show of the stream, where they were asked for.
    """

    name: str
    verdict: Verdict
    coverage: float | msgspec.UnsetType = msgspec.UNSET
    reason: str | None = None
    first_difference: FirstDifference | msgspec.UnsetType | None = msgspec.UNSET
    first_differences: FirstDifferences | msgspec.UnsetType = msgspec.UNSET
    differences: Counts | msgspec.UnsetType = msgspec.UNSET
    findings: list[Finding] = []
    not_checked: list[NotChecked] = []
    not_compared: list[str] | msgspec.UnsetType = msgspec.UNSET
    asked: list[str] | msgspec.UnsetType = msgspec.UNSET
    compared: list[str] | msgspec.UnsetType = msgspec.UNSET
    pictures: list[Picture] | msgspec.UnsetType = msgspec.UNSET


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of one command; the top level repeats the worst of its streams.

    Attributes:
        verified: whether every block was read and proved, not headers alone.
        coverage: compared rows over the rows of the longer run, 0 to 1.
        reason: why nothing could be judged, where the verdict is `inconclusive`; else what
            there is to say where no rule names a cause.
        comparisons: with more than two runs, the result of each against the baseline.
        axes: filled by `replay`.
        decision: what follows: of `preflight` "keep", "pin" or "migrate"; else a sentence, of an
            equivalence that was asked for, or of differences that the project accepts.
        outcome: the kind of decision, where an audit has one.
        pages: the page of each rule that found something, in Markdown.
    """

    schema_version: int = SCHEMA_VERSION
    command: str
    verdict: Verdict
    verified: bool = False
    coverage: float | msgspec.UnsetType = msgspec.UNSET
    reason: str | None = None
    runs: list[RunSummary]
    first_difference: FirstDifference | msgspec.UnsetType | None = msgspec.UNSET
    first_differences: FirstDifferences | msgspec.UnsetType = msgspec.UNSET
    differences: Counts | msgspec.UnsetType = msgspec.UNSET
    findings: list[Finding] = []
    not_checked: list[NotChecked] = []
    not_compared: list[str] | msgspec.UnsetType = msgspec.UNSET
    streams: list[StreamResult] = []
    comparisons: list[Result] | msgspec.UnsetType = msgspec.UNSET
    axes: list[AxisResult] = []
    decision: str | None = None
    outcome: Outcome | msgspec.UnsetType = msgspec.UNSET
    pages: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
