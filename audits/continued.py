"""A run that goes on with another one, beside one that was not interrupted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from detloader.audits.headers import goes_on
from detloader.audits.measures.restarts import (
    CERTAIN,
    first_place,
    is_joined,
    places_of_records,
    resume_position,
    told_position,
)
from detloader.audits.verdict import same_sequence

if TYPE_CHECKING:
    from detloader.audits.columns import Integers
    from detloader.audits.view import StreamView

__all__ = ["Continued", "from_restart", "later"]


class Continued(NamedTuple):
    """Two views, from where on they can be compared.

    Attributes:
        a: the baseline's rows.
        b: the other run's.
        later: by how many the numbers of the epochs of each were raised, for it goes on with
            the other one and counts anew.
    """

    a: StreamView
    b: StreamView
    later: tuple[int, int] = (0, 0)


def from_restart(a: StreamView, b: StreamView) -> Continued:
    """Leave out what comes before the restart, of two runs of which one goes on there.

    It has to declare `resume`, and to begin with what the other run has from there on: of one that
    went on elsewhere, or that has the rows from before as well, all is compared. One that marks
    its first row, and does not declare where it goes on, does so where labels of batches say,
    or else where the other has these rows. Its epochs are numbered as the other's.
    """
    on_a, on_b = goes_on(a.stream), goes_on(b.stream)
    if on_a is on_b:
        return Continued(a, b)
    if on_b:
        whole, epochs = _from_restart(a, b)
        return Continued(whole, later(b, epochs), (0, epochs))
    whole, epochs = _from_restart(b, a)
    return Continued(later(a, epochs), whole, (epochs, 0))


def later(view: StreamView, epochs: int) -> StreamView:
    """Raise the numbers of all epochs by one number."""
    return replace(view, epoch=view.epoch + epochs) if epochs else view


def _from_restart(whole: StreamView, resumed: StreamView) -> tuple[StreamView, int]:
    """Give the rows to compare with a resumed run, and how many epochs later than told that is."""
    shifts = _shifts(whole, resumed)
    found = {shift: _without_beginning(whole, later(resumed, shift)) for shift in shifts}
    begun = {
        shift: rest
        for shift, rest in found.items()
        if rest is not None and rest.epoch[0] == resumed.epoch[0] + shift
    }
    if begun:
        same = (shift for shift, rest in begun.items() if _are_same(rest, resumed, shift))
        first = next(iter(begun))
        shift = next(same, first) if len(begun) > 1 else first
        return begun[shift], shift
    rest = _without_beginning(whole, resumed)
    return (whole, shifts[0]) if rest is None else (rest, 0)


def _shifts(whole: StreamView, resumed: StreamView) -> list[int]:
    """Give by how many epochs the numbers of a resumed run may be too low; 0 where none tells.

    A loader that is not told the number counts anew: its first epoch has the number of the first
    one. Which epoch of the other run it is, its first records tell, or the declared place.
    """
    if not resumed.rows or not whole.rows or resumed.epoch[0] > whole.epoch[0]:
        return [0]
    rank, rows = next(resumed.by_rank())
    one, other = whole.take(dict(whole.by_rank()).get(rank, slice(0))), resumed.take(rows)
    position = resume_position(one, other)
    if position is not None and is_joined(one, other, position):
        return [0]
    epochs = one.epoch[places_of_records(one, other)] - other.epoch[0]
    shifts = np.unique(epochs[epochs >= 0])
    if position is not None and position < one.rows:
        declared = one.epoch[position] - other.epoch[0]
        shifts = np.concatenate([shifts[shifts == declared], shifts])
    # Where epochs have one order, it may be the first one, or that with which both end.
    last = int(whole.epoch[-1] - resumed.epoch[-1])
    return list(dict.fromkeys([*shifts[:1].tolist(), *shifts[shifts == last].tolist()])) or [0]


def _are_same(rest: StreamView, resumed: StreamView, shift: int) -> bool:
    shared = rest.compared.keys() & resumed.compared.keys()
    return same_sequence(rest, later(resumed, shift), shared) is not None


def _without_beginning(whole: StreamView, resumed: StreamView) -> StreamView | None:
    """Give the rows from the restart on; None where the other run did not go on there."""
    parts, others = dict(whole.by_rank()), dict(resumed.by_rank())
    if not resumed.rows or parts.keys() != others.keys():
        return None
    kept: list[Integers] = []
    for rank, rows in others.items():
        one, other = whole.take(parts[rank]), resumed.take(rows)
        position = told_position(one, other)
        if position is None:
            position = first_place(one, other)
        if position is None or not 0 < position < one.rows:
            return None
        begun = other.record.values[:CERTAIN]
        if is_joined(one, other, position) or not _agree(one.record.values[position:], begun):
            return None
        kept.append(parts[rank][position:])
    return whole.take(np.sort(np.concatenate(kept)))


def _agree(wanted: Integers, came: Integers) -> bool:
    """Tell whether one of two sequences begins with the other."""
    rows = min(len(wanted), len(came))
    return np.array_equal(wanted[:rows], came[:rows])
