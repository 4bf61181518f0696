"""How the rows of one rank were dealt out to several: in turns, or in slices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import distinct

if TYPE_CHECKING:
    from detloader.audits.alignment import Alignment
    from detloader.audits.columns import Integers
    from detloader.audits.view import StreamView

__all__ = ["dealt_formula"]


def dealt_formula(a: StreamView, b: StreamView, alignment: Alignment) -> str | None:
    """Give the formula of a deal that makes each rank's rows, in all epochs; None if none does.

    Args:
        a: the baseline, of one rank.
        b: the other run, of several.
        alignment: which row of b is which row of a.
    """
    if a.ranks > 1 or b.ranks == 1 or not len(alignment.rows_a) == a.rows == b.rows:
        return None
    place = _places(a)
    of_row = np.empty(b.rows, np.int64)
    of_row[alignment.rows_b] = place[alignment.rows_a]
    shares = _shares(b, of_row)
    for formula, deal in (("shards(a, {})", _in_turns), ("slices(a, {})", _in_slices)):
        if all(_fits(share, deal(sum(map(len, share)), b.ranks)) for share in shares):
            return formula.format(b.ranks)
    return None


def _places(view: StreamView) -> Integers:
    """Count the rows of each epoch from 0."""
    place = np.empty(view.rows, np.int64)
    for _, rows in view.by_epoch():
        place[rows] = np.arange(len(rows))
    return place


def _shares(view: StreamView, places: Integers) -> list[list[Integers]]:
    """Give for each epoch the places that each rank delivered, in its order."""
    shares: dict[int, list[Integers]] = {int(epoch): [] for epoch in distinct(view.epoch)}
    for _, rows in view.by_rank():
        for epoch, mine in shares.items():
            mine.append(places[rows[view.epoch[rows] == epoch]])
    return list(shares.values())


def _fits(share: list[Integers], deal: list[Integers]) -> bool:
    return all(map(np.array_equal, share, deal))


def _in_turns(rows: int, ranks: int) -> list[Integers]:
    return [np.arange(rank, rows, ranks) for rank in range(ranks)]


def _in_slices(rows: int, ranks: int) -> list[Integers]:
    return np.array_split(np.arange(rows), ranks)
