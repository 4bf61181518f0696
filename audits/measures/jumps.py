"""Where in the uninterrupted run a restart went on, and what that lost or repeated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.measures.restarts import labelled_position, restarts_of, told_position
from detloader.audits.rule import CannotTell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from detloader.audits.columns import Integers
    from detloader.audits.view import StreamView

__all__ = ["Jump", "find_jumps", "find_undeclared", "kind_of_jump", "lost_and_repeated"]

CERTAIN = 4
"""Rows in a row that must agree, for a place to be the one where a run went on."""

TRIED = 1000
"""Places of a record that are tried."""


@dataclass(frozen=True, slots=True)
class Jump:
    """A restart that missed its place.

    Attributes:
        restart: row of the resumed run at which it shows.
        expected: row of the uninterrupted run that should have come.
        actual: the row that came; None where no part of the uninterrupted run fits.
        matched: rows that agree from there on.
        number: which restart it is, from 1; a place at which the run departs later on is
            counted as a further one, unless an epoch begins there.
        late: whether it is that epoch which is not the right one.
    """

    restart: int
    expected: int
    actual: int | None
    matched: int
    number: int = 1
    late: bool = False


def find_jumps(
    whole: StreamView, resumed: StreamView
) -> Iterator[tuple[int, StreamView, StreamView, Jump]]:
    """Yield the ranks on which a restart missed its place."""
    parts = dict(whole.by_rank())
    if parts.keys() != dict(resumed.by_rank()).keys():
        raise CannotTell("the same ranks in both runs")
    for rank, rows in resumed.by_rank():
        one, other = whole.take(parts[rank]), resumed.take(rows)
        position = told_position(one, other)
        restarts = restarts_of(one, other, position)
        if not len(restarts):
            continue
        before = int(restarts[0])
        if np.array_equal(one.record.values[:before], other.record.values[:before]):
            jump = _find_jump(one, other, restarts, position)
            if jump is not None:
                yield rank, one, other, jump


def find_undeclared(
    whole: StreamView, later: StreamView
) -> Iterator[tuple[int, StreamView, StreamView, Jump]]:
    """Yield the ranks of a run that begin elsewhere than where the labels of their rows say.

    Another order may have another cause: what came must stand elsewhere in the first run.
    """
    if _first_label(whole) == _first_label(later):
        return
    parts = dict(whole.by_rank())
    for rank, rows in later.by_rank():
        if rank not in parts:
            continue
        one, other = whole.take(parts[rank]), later.take(rows)
        position = labelled_position(one, other)
        if position is None:
            continue
        first = np.zeros(1, np.int64)
        jump = _find_jump(one, other, first, position)
        if jump is not None and jump.restart == 0 and jump.actual is not None:
            yield rank, one, other, jump


def _first_label(view: StreamView) -> tuple[int, int] | None:
    """Give epoch and label of the first batch of a run; None where it has no labels."""
    if not view.rows or "batch" not in view.compared:
        return None
    return int(view.epoch[0]), int(view.compared["batch"].values[0])


def _find_jump(
    one: StreamView, other: StreamView, restarts: Integers, position: int | None
) -> Jump | None:
    """Find the first restart that went on elsewhere than it should; None where all are exact.

    Args:
        one: rows of one rank, uninterrupted.
        other: rows of the same rank, with restarts.
        restarts: shape (restarts,), int64; ascending rows of the resumed run.
        position: row of the uninterrupted run that the first restart should go on with; None
            where it goes on where the rows before it ended.
    """
    whole, resumed = one.record.values, other.record.values
    shift = 0
    for number, restart in enumerate(restarts.tolist(), 1):
        end = int(restarts[number]) if number < len(restarts) else len(resumed)
        segment = resumed[restart:end]
        wanted = [restart + shift] if restart else []
        if number == 1 and position is not None:
            wanted.insert(0, position)
        agreed = [_common(whole[row:], segment) for row in wanted]
        if not wanted:
            return None
        best = int(np.argmax(agreed))
        expected, matched = wanted[best], agreed[best]
        if matched == min(len(segment), max(len(whole) - expected, 0)) and expected < len(whole):
            shift = expected - restart
            continue
        if not matched:
            expected = wanted[0]
        departed = restart + matched
        late = matched > 0 and bool(other.epoch[departed] != other.epoch[departed - 1])
        jump = _jump(whole, resumed[departed:end], departed, expected + matched)
        return replace(jump, number=number + (matched > 0 and not late), late=late)
    return None


def _jump(whole: Integers, rest: Integers, restart: int, expected: int) -> Jump:
    places = np.flatnonzero(whole == rest[0])
    nearest = places[np.argsort(np.abs(places - expected), kind="stable")][:TRIED]
    lengths = [_common(whole[place:], rest) for place in nearest.tolist()]
    if lengths:
        best = int(np.argmax(lengths))
        place, matched = int(nearest[best]), lengths[best]
        if matched >= min(CERTAIN, len(rest), max(len(whole) - place, 2)):
            return Jump(restart, expected, place, matched)
    return Jump(restart, expected, None, 0)


def _common(left: Integers, right: Integers) -> int:
    """Count the values that two sequences have in common at their beginnings."""
    size = min(len(left), len(right))
    differs = left[:size] != right[:size]
    return int(np.argmax(differs)) if differs.any() else size


def kind_of_jump(whole: StreamView, jump: Jump) -> str:
    """Tell "gap", "overlap", "from-start", "epoch-order" and "other-order" apart."""
    if jump.actual is None:
        return "other-order"
    expected = min(jump.expected, whole.rows - 1)
    epoch, came = int(whole.epoch[expected]), int(whole.epoch[jump.actual])
    start, its_start = _start(whole, epoch), _start(whole, came)
    if jump.actual == 0 or (jump.actual == start and jump.actual < jump.expected):
        return "from-start"
    if came != epoch and jump.actual - its_start == jump.expected - start:
        return "epoch-order"
    return "gap" if jump.actual > jump.expected else "overlap"


def _start(whole: StreamView, epoch: int) -> int:
    return int(np.argmax(whole.epoch == epoch))


def lost_and_repeated(
    whole: StreamView, resumed: StreamView, jump: Jump, kind: str
) -> tuple[Integers, Integers]:
    """Give the codes of records that were skipped, and of those that came once more."""
    none = np.zeros(0, np.int64)
    if jump.actual is not None and kind != "epoch-order":
        if jump.actual > jump.expected:
            return whole.record.values[jump.expected : jump.actual], none
        return none, whole.record.values[jump.actual : jump.expected]
    # Another order: what the rest of the epoch should have held, against what it held.
    epoch = whole.epoch == whole.epoch[min(jump.expected, whole.rows - 1)]
    epoch[: jump.expected] = False
    wanted = whole.record.values[epoch]
    came = resumed.record.values[jump.restart : jump.restart + len(wanted)]
    missing = np.setdiff1d(wanted[: len(came)], came) if len(came) < len(wanted) else none
    if len(came) == len(wanted):
        missing = np.setdiff1d(wanted, came)
    return missing, np.setdiff1d(came, wanted)
