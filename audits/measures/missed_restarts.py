"""The first restart that went on elsewhere than the uninterrupted run, on whichever ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from detloader.audits.compare import others
from detloader.audits.continued import from_restart, later
from detloader.audits.integers import distinct
from detloader.audits.measures.conditions import is_resumed
from detloader.audits.measures.explained import explain_missing
from detloader.audits.measures.jumps import (
    find_jumps,
    find_undeclared,
    kind_of_jump,
    lost_and_repeated,
)
from detloader.audits.rule import CannotTell
from detloader.audits.view import load_views

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.compare import Comparison
    from detloader.audits.measures.jumps import Jump
    from detloader.audits.rule import Known
    from detloader.audits.view import StreamView

__all__ = ["MissedRestart", "find_missed"]


@dataclass(frozen=True, eq=False, slots=True)
class MissedRestart:
    """A restart that missed its place.

    Attributes:
        whole: the first rank on which it shows, of the uninterrupted run.
        resumed: the same rank of the resumed run.
        jump: where it went on, and where it should have.
        kind: as `kind_of_jump` tells.
        lost: codes of the records that were skipped.
        repeated: codes of those that came again.
        ranks: all ranks on which a restart missed its place.
    """

    whole: StreamView
    resumed: StreamView
    jump: Jump
    kind: str
    lost: Integers
    repeated: Integers
    ranks: list[int]


def find_missed(comparison: Comparison, known: Known) -> MissedRestart | None:
    """Find a restart that missed its place; it explains the records that the other run lacks.

    Raises:
        CannotTell: the baseline ends before the restart.
    """
    found = _find(*_whole(comparison.a, comparison.b))
    if not found:
        return None
    _, whole, resumed, jump = found[0]
    if jump.actual is None and known.causes:
        return None
    if jump.expected >= whole.rows and jump.actual is None:
        raise CannotTell("a baseline that goes on after the restart")
    a, alignment = comparison.a, comparison.alignment
    explain_missing(known, distinct(a.record.values[others(a.rows, alignment.rows_a)]))
    kind = kind_of_jump(whole, jump)
    lost, repeated = lost_and_repeated(whole, resumed, jump, kind)
    return MissedRestart(whole, resumed, jump, kind, lost, repeated, [rank for rank, *_ in found])


def _find(a: StreamView, b: StreamView) -> list[tuple[int, StreamView, StreamView, Jump]]:
    if is_resumed(b.stream):
        return list(find_jumps(a, b))
    if is_resumed(a.stream):
        return list(find_jumps(b, a))
    if [*a.stream.samplings, *b.stream.samplings] != [None, None]:
        return []
    return list(find_undeclared(a, b)) or list(find_undeclared(b, a))


def _whole(a: StreamView, b: StreamView) -> tuple[StreamView, StreamView]:
    """Give all rows of both runs, where only a common beginning was compared."""
    if a.rows == a.stream.rows and b.rows == b.stream.rows:
        return a, b
    views = load_views([(a.path, a.stream), (b.path, b.stream)])
    raised = from_restart(*views).later
    first, second = map(later, views, raised)
    return first, second
