"""Whether two runs are as alike as was asked, which may be less than identical.

A rule is judged from what was measured: the verdict, the counts and the first difference
of each stream. In every rule draws and content must agree; draws that merely follow the
position are not counted as different in the first place.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from detloader.audits.headers import unequal_digests
from detloader.audits.rule import Stage, all_rules
from detloader.errors import UsageError
from detloader.findings import Counts, Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from detloader.findings import Finding, Result, StreamResult
    from detloader.manifest.reader import Stream

__all__ = [
    "Equivalence",
    "as_equivalence",
    "describe_counts",
    "judge",
    "same_ranks",
    "unexcused",
]


class Equivalence(StrEnum):
    """How alike two runs have to be."""

    SAME_SET = "same-set"
    SAME_GLOBAL_BATCHES = "same-global-batches"
    SAME_ORDER_PER_RANK = "same-order-per-rank"
    SAME_ORDER = "same-order"
    SAME_PREFIX = "same-prefix"

    @property
    def meaning(self) -> str:
        """Say what is asked, in a sentence."""
        return _MEANINGS[self]


_MEANINGS = {
    Equivalence.SAME_SET: "The same records in each epoch, as often.",
    Equivalence.SAME_GLOBAL_BATCHES: "The same rows in each global batch, on whichever rank.",
    Equivalence.SAME_ORDER_PER_RANK: "The same rows in the same order on each rank, "
    "in whichever batches.",
    Equivalence.SAME_ORDER: "The same records in canonical order, on whichever rank, "
    "in whichever batches.",
    Equivalence.SAME_PREFIX: "The shorter run is the beginning of the longer one.",
}
_NOTHING = "nothing could be compared"
_SAYS = {
    Outcome.HOLDS: "holds",
    Outcome.UNKNOWN: "cannot be told",
    Outcome.BROKEN: "does not hold",
}
_WORSE = list(_SAYS)
_SAME_SETS = frozenset({Verdict.EQUIVALENT, Verdict.REGROUPED, Verdict.REORDERED})
_WHOLE = frozenset({Equivalence.SAME_SET, Equivalence.SAME_GLOBAL_BATCHES, Equivalence.SAME_ORDER})
"""Rules that the beginning of a run can break though the whole run meets them."""
_PRESENCE = ("missing", "extra", "duplicated", "substituted")
_VALUES = ("content", "draws")
_PHRASES = {
    "missing": "missing",
    "extra": "extra",
    "duplicated": "too often",
    "substituted": "substituted",
    "moved": "moved",
    "content": "with other content",
    "draws": "with other draws",
    "batches": "in other batches",
}
_BY_RANKS: Mapping[bool | None, tuple[Outcome, str]] = {
    True: (Outcome.HOLDS, ""),
    False: (Outcome.BROKEN, "records stand on other ranks"),
    None: (Outcome.UNKNOWN, "which rank has which records is known of complete runs only"),
}
_COUNTED: Mapping[Equivalence, tuple[str, ...]] = {
    Equivalence.SAME_SET: (),
    Equivalence.SAME_GLOBAL_BATCHES: ("moved", "batches"),
    Equivalence.SAME_ORDER_PER_RANK: ("moved",),
    Equivalence.SAME_ORDER: ("moved",),
    Equivalence.SAME_PREFIX: ("moved", "batches"),
}
"""What counts against a rule, besides records, draws and content."""

_BETWEEN_RANKS = frozenset({Stage.PARTITION, Stage.TOPOLOGY})
_OF_ORDER = _BETWEEN_RANKS | {
    Stage.SOURCE_ORDER,
    Stage.SEED,
    Stage.SAMPLER,
    Stage.EPOCH,
    Stage.VERSION,
    Stage.COUPLING,
    Stage.RACE,
    Stage.RESUME,
}
_ALLOWED: Mapping[Equivalence, frozenset[Stage]] = {
    Equivalence.SAME_SET: _OF_ORDER,
    Equivalence.SAME_GLOBAL_BATCHES: _BETWEEN_RANKS | {Stage.RACE},
    Equivalence.SAME_ORDER_PER_RANK: _BETWEEN_RANKS,
    Equivalence.SAME_ORDER: _BETWEEN_RANKS,
    Equivalence.SAME_PREFIX: frozenset({Stage.PARTITION, Stage.COVERAGE}),
}
"""Where a loader may differ under a rule; a fault there is no fault against it."""


def as_equivalence(name: str) -> Equivalence:
    """Return the rule of this name.

    Raises:
        UsageError: there is none.
    """
    try:
        return Equivalence(name)
    except ValueError:
        known = ", ".join(Equivalence)
        raise UsageError(f"there is no equivalence {name!r}: name one of {known}") from None


def judge(
    result: Result,
    rule: Equivalence,
    same_ranks: Mapping[str, bool | None] = MappingProxyType({}),
) -> Result:
    """Say in `decision` and `outcome` of an audit whether its runs meet a rule.

    Args:
        result: the answer for two runs.
        rule: what is asked.
        same_ranks: by stream, whether each rank has the same records in both runs; what is
            absent or None is not known. A result alone does not tell it.
    """
    if not result.streams:
        return _decided(result, rule, Outcome.UNKNOWN, [result.reason or _NOTHING])
    answers = [
        (stream.name, *_answer(stream, rule, same_ranks.get(stream.name)))
        for stream in result.streams
    ]
    outcome = max((found for _, found, _ in answers), key=_WORSE.index)
    named = len(answers) > 1
    reasons = [
        f"{why} in stream {name}" if named else why
        for name, found, why in answers
        if found is outcome and why
    ]
    return _decided(result, rule, outcome, reasons)


def same_ranks(a: Stream, b: Stream) -> bool | None:
    """Tell of two streams of the same rows whether each rank delivered the same ones.

    None where it is not known yet, for one of them is incomplete.
    """
    ranks_a = [rank.header.rank for rank in a.ranks]
    ranks_b = [rank.header.rank for rank in b.ranks]
    if ranks_a != ranks_b or len(ranks_a) == 1:
        return ranks_a == ranks_b
    unequal = unequal_digests(a, b)
    if unequal is None or not (a.complete and b.complete):
        return None
    return not {"record", "epoch"} & {*unequal}


def unexcused(result: Result, rule: Equivalence) -> list[Finding]:
    """Give the findings that concern more than what a rule, which holds, allows to differ.

    Of an identical stream that is every finding: nothing differs that could be allowed.
    """
    if not result.findings:
        return []
    stages = {known.name: known.stage for known in all_rules()}
    return [
        finding
        for stream in result.streams
        for finding in stream.findings
        if stream.verdict is Verdict.IDENTICAL or stages.get(finding.rule) not in _ALLOWED[rule]
    ]


def describe_counts(counts: Counts, names: Iterable[str] = tuple(_PHRASES)) -> str:
    """Say how many records differ in which way; empty where none does."""
    told = [(getattr(counts, name), _PHRASES[name]) for name in names]
    return ", ".join(
        f"{count:,} {'record' if count == 1 else 'records'} {phrase}"
        for count, phrase in told
        if count
    )


def _decided(result: Result, rule: Equivalence, outcome: Outcome, reasons: list[str]) -> Result:
    decision = f"{rule} {_SAYS[outcome]}"
    if reasons:
        decision += f": {'; '.join(reasons)}"
    return msgspec.structs.replace(result, decision=decision, outcome=outcome)


def _answer(stream: StreamResult, rule: Equivalence, ranks: bool | None) -> tuple[Outcome, str]:  # noqa: FBT001 - three answers
    """Give the outcome for one stream, and why it is no better."""
    counts = stream.differences or Counts()
    if stream.verdict is Verdict.INCONCLUSIVE or _is_unread(stream, counts):
        return Outcome.UNKNOWN, stream.reason or _NOTHING
    compared = stream.coverage or 1.0
    if stream.verdict is Verdict.IDENTICAL or _holds(stream, rule, counts):
        covered = f"{compared:.1%} of the rows could be compared" if compared < 1 else ""
        return Outcome.HOLDS, covered
    if rule is Equivalence.SAME_ORDER_PER_RANK and stream.verdict is Verdict.REGROUPED:
        return _BY_RANKS[ranks]
    why = _why(stream, rule, counts)
    # Where one run has yet to end, what it lacks may still come, in this epoch or on another rank.
    if compared < 1 and rule in _WHOLE and not describe_counts(counts, _VALUES):
        return Outcome.UNKNOWN, f"{why}, and one run is not complete"
    return Outcome.BROKEN, why


def _is_unread(stream: StreamResult, counts: Counts) -> bool:
    """Tell whether digests alone said that the rows differ."""
    return stream.verdict is Verdict.CHANGED and not stream.coverage and counts == Counts()


def _holds(stream: StreamResult, rule: Equivalence, counts: Counts) -> bool:
    """Tell whether the result alone shows that streams, which are not identical, meet a rule."""
    match rule:
        case Equivalence.SAME_SET:
            return stream.verdict in _SAME_SETS
        case Equivalence.SAME_GLOBAL_BATCHES:
            return stream.verdict is Verdict.EQUIVALENT
        case Equivalence.SAME_ORDER:
            return stream.verdict in _SAME_SETS and not counts.moved
        case Equivalence.SAME_PREFIX:
            return _differs_at_the_end(stream)
        case Equivalence.SAME_ORDER_PER_RANK:
            return False


def _differs_at_the_end(stream: StreamResult) -> bool:
    """Tell whether the first difference is that one run, which has rows, has no more of them."""
    first = stream.first_difference or None
    if first is None or first.column != "record" or first.row == 0:
        return False
    return first.a is None or first.b is None


def _why(stream: StreamResult, rule: Equivalence, counts: Counts) -> str:
    told = describe_counts(counts, [*_PRESENCE, *_VALUES, *_COUNTED[rule]])
    if told or stream.reason:
        return told or str(stream.reason)
    if first := stream.first_difference or None:
        return f"{first.column} differs from row {first.row} on"
    return f"the runs are {stream.verdict}"
