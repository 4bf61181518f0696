"""Streams of draws that are one and the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from detloader.audits.measures.draws import ALIKE, agreement_in_order, agreement_in_place
from detloader.audits.measures.statistics import is_impossible

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from detloader.audits.columns import Flags
    from detloader.audits.measures.draws import Agreement, Sequence

__all__ = ["Family", "find_families"]

HEAD = 1024
"""Draws at the beginning of sequences by which candidates are found."""

LIKELY = 0.5
"""Share of such draws that candidates have in common."""


@dataclass(frozen=True, slots=True)
class Family:
    """Streams that are copies of one.

    Attributes:
        members: their numbers, ascending.
        agreement: the weakest agreement of a member with the first.
    """

    members: list[int]
    agreement: Agreement


def find_families(streams: dict[int, Sequence], tests: int) -> tuple[list[Family], bool]:
    """Find streams that chance cannot have made equal.

    Args:
        streams: draws of each stream, by its number.
        tests: places where copies are looked for, over all calls.

    Returns:
        The families, and whether there are equal streams that chance may have made so.
    """
    doubtful = False
    families: dict[int, dict[int, Agreement]] = {}
    taken: set[int] = set()
    for first, other in _candidates(streams):
        if first in taken or other in taken:
            continue
        agreement = _agreement(streams[first], streams[other])
        if not agreement.alike:
            continue
        if is_impossible(agreement.log_chance, tests):
            families.setdefault(first, {})[other] = agreement
            taken.add(other)
        else:
            doubtful = True
    found = [
        Family([first, *sorted(copies)], max(copies.values(), key=lambda copy: copy.log_chance))
        for first, copies in families.items()
    ]
    return found, doubtful


def _agreement(left: Sequence, right: Sequence) -> Agreement:
    in_place = agreement_in_place(left, right)
    return in_place if in_place.alike else agreement_in_order(left, right)


def _candidates(streams: dict[int, Sequence]) -> Iterator[tuple[int, int]]:
    """Give pairs that begin alike, place by place or in the values that they share."""
    numbers = sorted(streams)
    if len(numbers) < 2:  # noqa: PLR2004
        return
    heads = [streams[number].take(slice(HEAD)) for number in numbers]
    width = max(map(len, heads))
    draws = _stack([head.draws for head in heads], width)
    records = _stack([head.records for head in heads], width)
    valid = _stack([head.valid for head in heads], width)
    shared = _sharing_values(draws, valid)
    for row, number in enumerate(numbers[:-1]):
        others = slice(row + 1, None)
        counted = valid[row] & valid[others] & (records[row] != records[others])
        equal = (draws[row] == draws[others]) & counted
        likely: Flags = equal.sum(axis=1) >= LIKELY * np.maximum(counted.sum(axis=1), 1)
        likely |= np.isin(np.arange(row + 1, len(numbers)), shared.get(row, []))
        yield from ((number, numbers[row + 1 + other]) for other in np.flatnonzero(likely).tolist())


def _stack(arrays: list[npt.NDArray[Any]], width: int) -> npt.NDArray[Any]:
    stacked = np.zeros((len(arrays), width), arrays[0].dtype)
    for row, array in enumerate(arrays):
        stacked[row, : len(array)] = array
    return stacked


def _sharing_values(draws: npt.NDArray[Any], valid: Flags) -> dict[int, list[int]]:
    """Give for each stream the later ones most of whose values it was the first to have."""
    rows, places = np.nonzero(valid)
    values = np.unique(draws[rows, places], return_inverse=True)[1]
    holdings = np.unique(values * len(draws) + rows)
    value, holder = np.divmod(holdings, len(draws))
    fresh = np.ones(len(value), dtype=np.bool_)
    fresh[1:] = value[1:] != value[:-1]
    first = holder[np.maximum.accumulate(np.where(fresh, np.arange(len(value)), 0))]
    links, counts = np.unique(first * len(draws) + holder, return_counts=True)
    held = np.bincount(holder, minlength=len(draws))
    sharing: dict[int, list[int]] = {}
    for link, count in zip(links.tolist(), counts.tolist(), strict=True):
        one, other = divmod(link, len(draws))
        if one != other and count >= LIKELY * ALIKE * held[other]:
            sharing.setdefault(one, []).append(other)
    return sharing
