"""Sequences of draws: how much two of them agree, and whether chance explains it.

Draws are digests, and a coin flip looks as wide as a double. How likely two draws
agree by chance is therefore estimated from how often values repeat within one
sequence; neighbours of one value count as one draw, for a clip or a batch may
share it. Sequences are judged whole, with room for a few breaks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from detloader.audits.alignment import longest_increasing, match_occurrences
from detloader.audits.measures.statistics import log_choose
from detloader.audits.rule import CannotTell

if TYPE_CHECKING:
    import numpy.typing as npt

    from detloader.audits.columns import Flags, Integers
    from detloader.audits.view import StreamView

__all__ = [
    "ALIKE",
    "Agreement",
    "Sequence",
    "agreement_in_order",
    "agreement_in_place",
    "draw_columns",
]

ALIKE = 0.95
"""Share of agreeing draws from which on two sequences are one stream; the rest are breaks."""

SAMPLE = 65_536
"""Draws of a sequence from which its chance of agreement is estimated."""

ORDERED = 16_384
"""Draws at the beginning of sequences that are aligned where some were left out."""


@dataclass(frozen=True, eq=False, slots=True)
class Sequence:
    """Draws in the order in which one stream gave them.

    Attributes:
        draws: shape (rows,), uint64 or int64 codes.
        records: shape (rows,), int64; the record that each was drawn for.
        groups: shape (rows,), int64; rows of one group share a draw on purpose; -1 is no group.
        valid: shape (rows,); False where there is no draw.
    """

    draws: npt.NDArray[Any]
    records: Integers
    groups: Integers
    valid: Flags

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.draws)

    def take(self, rows: Integers | Flags | slice) -> Sequence:
        """Keep these rows, in this order."""
        return Sequence(self.draws[rows], self.records[rows], self.groups[rows], self.valid[rows])

    def may_share(self, other: Sequence) -> Flags:
        """Tell row by row whether an equal draw proves nothing: one record, or one group."""
        shared: Flags = (self.groups == other.groups) & (self.groups >= 0)
        shared |= self.records == other.records
        return shared


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two sequences agree.

    Attributes:
        matched: draws that agree.
        compared: draws that could.
        log_chance: logarithm of a bound on the chance of it.
    """

    matched: int
    compared: int
    log_chance: float

    @property
    def alike(self) -> bool:
        """Tell whether all but a few breaks agree."""
        return self.compared > 0 and self.matched >= ALIKE * self.compared


def draw_columns(view: StreamView) -> list[str]:
    """Name the recorded columns of draws, that of all draws first.

    Raises:
        CannotTell: none was recorded.
    """
    names = sorted(name for name in view.compared if name.startswith("draws"))
    if not names:
        raise CannotTell("draws")
    return names


def agreement_in_place(
    left: Sequence, right: Sequence, *, of_one_record: bool = False
) -> Agreement:
    """Compare draw by draw, from the beginning of both.

    Args:
        left: one sequence.
        right: the other.
        of_one_record: whether it is asked if a record keeps its draw; equal draws
            of one record are no proof of anything else.
    """
    shorter = slice(min(len(left), len(right)))
    left, right = left.take(shorter), right.take(shorter)
    counted = left.valid & right.valid
    if not of_one_record:
        counted &= ~left.may_share(right)
    left, right = left.take(counted), right.take(counted)
    matched = int((left.draws == right.draws).sum())
    return _judge(left, right, matched, len(left), ways=1)


def agreement_in_order(left: Sequence, right: Sequence) -> Agreement:
    """Compare what both have in one order, for filters leave some draws out of either."""
    left, right = (sequence.take(sequence.valid).take(slice(ORDERED)) for sequence in (left, right))
    shorter = min(len(left), len(right))
    rows_left, rows_right = match_occurrences(left.draws, right.draws)
    proves = ~left.take(rows_left).may_share(right.take(rows_right))
    matched = int(proves.sum())
    if matched >= ALIKE * shorter:
        matched = longest_increasing(rows_right[proves])
    return _judge(left, right, matched, shorter, ways=2)


def _judge(left: Sequence, right: Sequence, matched: int, compared: int, ways: int) -> Agreement:
    """Bound the chance: ways to choose the draws that agree, times the chance that they do."""
    if not matched:
        return Agreement(matched, compared, 0.0)
    rate = max(_rate(left.draws), _rate(right.draws))
    turns = min(_turns(left.draws), _turns(right.draws))
    agreeing = math.floor(turns * matched / compared)
    log_chance = ways * log_choose(turns, agreeing) + agreeing * math.log(rate)
    return Agreement(matched, compared, min(0.0, log_chance))


def _rate(draws: npt.NDArray[Any]) -> float:
    """Bound how often two draws of one sequence agree."""
    sample = draws[:: max(1, len(draws) // SAMPLE)]
    counts = np.unique(sample, return_counts=True)[1].astype(np.float64)
    pairs = len(sample) * (len(sample) - 1) / 2
    return float(((counts * (counts - 1) / 2).sum() + 1) / (pairs + 1))


def _turns(draws: npt.NDArray[Any]) -> int:
    """Count the draws, neighbours of one value as one."""
    return 1 + int((draws[1:] != draws[:-1]).sum())
