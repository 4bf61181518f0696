"""Epochs whose draws are those of an earlier one, and the key that these follow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.alignment import match_occurrences
from detloader.audits.measures.deliverers import deliverers_of, place_among, ranks_as_deliverers
from detloader.audits.measures.draws import Sequence, agreement_in_place
from detloader.audits.measures.orders import sample_of_records
from detloader.audits.measures.statistics import is_impossible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from detloader.audits.columns import Integers
    from detloader.audits.measures.draws import Agreement
    from detloader.audits.view import StreamView


__all__ = ["Repeat", "Repeats", "find_repeats"]


MOSTLY = 0.95
"""Share of rows that stay at their place from which on the order itself repeats."""

SAMPLE = 131_072
"""Rows of an epoch that are compared by place: its first ones."""

ALL_PAIRS = 32
"""Epochs up to which each is compared with all before it."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """Two epochs of equal draws, and the key that these follow."""

    earlier: int
    later: int
    follows: str
    agreement: Agreement


@dataclass(frozen=True, slots=True)
class Repeats:
    """Repeats of one column.

    Attributes:
        repeats: by later epoch; none where chance may have made them.
        log_chance: logarithm of a bound on the chance of all of them.
        doubtful: whether epochs are equal that chance may have made so.
    """

    repeats: list[Repeat]
    log_chance: float
    doubtful: bool


@dataclass(frozen=True, eq=False, slots=True)
class _Ground:
    """What epochs are compared on.

    Attributes:
        whole: the draws.
        keys: by level, a number for the place of each row within its epoch.
        by_place: for each epoch its first rows.
        by_record: for each epoch the rows of some records, the same ones in all epochs.
    """

    whole: Sequence
    keys: dict[str, Integers]
    by_place: dict[int, Integers]
    by_record: dict[int, Integers]


def _lay_ground(view: StreamView, name: str, epochs: dict[int, Integers]) -> _Ground:
    column = view.compared[name]
    no_group = np.full(view.rows, -1, np.int64)
    keys = _place_keys(view)
    early, sampled = keys["rank"] < SAMPLE, sample_of_records(view, epochs)
    return _Ground(
        whole=Sequence(column.values, view.record.values, no_group, ~column.missing()),
        keys=keys,
        by_place={epoch: rows[early[rows]] for epoch, rows in epochs.items()},
        by_record={epoch: rows[sampled[rows]] for epoch, rows in epochs.items()},
    )


def find_repeats(view: StreamView, name: str, epochs: dict[int, Integers]) -> Repeats:
    """Find the repeats of one column; chance would have to make all of them."""
    ground = _lay_ground(view, name, epochs)
    repeats: list[Repeat] = []
    log_chance, doubtful = 0.0, False
    for later, before in _pairs(sorted(epochs)):
        for earlier in before:
            repeat = _compare(view, ground, earlier, later)
            if repeat is None:
                continue
            # Ways to have found it: an epoch before it, a key, and to look at all.
            own_chance = repeat[1].log_chance + math.log(2 * 3 * len(before))
            doubtful |= own_chance >= 0
            if own_chance < 0:
                log_chance += own_chance
                repeats.append(Repeat(earlier, later, *repeat))
                break
    if is_impossible(log_chance):
        return Repeats(repeats, log_chance, doubtful)
    return Repeats([], log_chance, doubtful or bool(repeats))


def _pairs(epochs: list[int]) -> Iterator[tuple[int, list[int]]]:
    """Give each later epoch, and those before it that it is compared with."""
    for place, later in enumerate(epochs[1:], start=1):
        before = epochs[:place]
        if len(epochs) > ALL_PAIRS:
            before = sorted({*before[:1], *before[-1:]})
        yield later, before


def _place_keys(view: StreamView) -> dict[str, Integers]:
    """Give each row a number for its place within its epoch, by worker and by rank."""
    keys = {}
    if view.has("worker"):
        workers = deliverers_of(view)
        keys["worker"] = place_among(view, workers) * len(workers) + workers.of_row
    ranks = ranks_as_deliverers(view)
    keys["rank"] = place_among(view, ranks) * len(ranks) + ranks.of_row
    return keys


def _compare(
    view: StreamView, ground: _Ground, earlier: int, later: int
) -> tuple[str, Agreement] | None:
    """Tell which key the draws of two epochs follow; None where they follow none."""
    whole, keys, records = ground.whole, ground.keys, view.record.values
    for level, key in keys.items():
        one, other = _match(key, ground.by_place[earlier], ground.by_place[later])
        agreement = agreement_in_place(whole.take(one), whole.take(other))
        if agreement.alike and (records[one] != records[other]).mean() > 1 - MOSTLY:
            return f"{level} and position", agreement
    one, other = _match(records, ground.by_record[earlier], ground.by_record[later])
    agreement = agreement_in_place(whole.take(one), whole.take(other), of_one_record=True)
    if not agreement.alike:
        return None
    stayed = any((key[one] == key[other]).mean() >= MOSTLY for key in keys.values())
    if stayed and view.declared("shuffle") is not False:
        return None
    return ("record and position" if stayed else "record"), agreement


def _match(keys: Integers, earlier: Integers, later: Integers) -> tuple[Integers, Integers]:
    rows_earlier, rows_later = match_occurrences(keys[earlier], keys[later])
    return earlier[rows_earlier], later[rows_later]
