"""Draws by weight: what was declared, and what came."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from detloader.audits.integers import are_distinct
from detloader.audits.rule import CannotTell

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from detloader.audits.columns import Integers
    from detloader.audits.rule import Known
    from detloader.audits.view import StreamView
    from detloader.findings import RecordId

__all__ = [
    "Draws",
    "are_shares",
    "collect_draws",
    "log_odds_of_orders",
    "place_weights",
    "read_weights",
    "without",
]


@dataclass(frozen=True, eq=False, slots=True)
class Draws:
    """What was drawn, and what should have been; records stand in the order of the weights.

    Attributes:
        names: IDs of the records.
        weights: shape (records,), float64; they sum to 1.
        counts: shape (records,), int64; times each came, in sequences that do not repeat.
        repeats: whether a record comes twice in one of these sequences.
        sequences: which records each has, in its order; none where counts alone are known.
    """

    names: list[RecordId]
    weights: npt.NDArray[np.float64]
    counts: Integers
    repeats: bool
    sequences: list[Integers] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Count the draws."""
        return int(self.counts.sum())

    @property
    def realised(self) -> npt.NDArray[np.float64]:
        """Give the share of each record."""
        shares: npt.NDArray[np.float64] = self.counts / max(self.rows, 1)
        return shares


def read_weights(
    view: StreamView, declaring: StreamView | None = None
) -> tuple[npt.NDArray[np.float64], list[RecordId], Integers]:
    """Give the weights, the records that they belong to, and which of them each row is.

    Args:
        view: the rows.
        declaring: the run that declares the weights; the view by default.
    """
    weights, names, places = place_weights(view, declaring)
    if len(places) and (places.min() < 0 or places.max() >= len(weights)):
        raise CannotTell("a weight for each record")
    return weights, names, places


def place_weights(
    view: StreamView, declaring: StreamView | None = None
) -> tuple[npt.NDArray[np.float64], list[RecordId], Integers]:
    """Do the same where rows may have a record without a weight: its place lies outside."""
    declared = (declaring or view).declared("weights")
    if isinstance(declared, list):
        places = _positions(view)
        names: list[RecordId] = [*range(len(declared))]
        weights = np.array(declared, np.float64)
    else:
        place = {name: number for number, name in enumerate(declared)}
        codes, inverse = np.unique(view.record.values, return_inverse=True)
        texts = [str(name) for name in view.identify(codes)]
        places = np.array([place.get(text, -1) for text in texts], np.int64)[inverse]
        names = [*declared] if view.record.vocabulary is not None else _numbers(declared)
        weights = np.array([*declared.values()], np.float64)
    if not are_shares(declared):
        raise CannotTell("weights that can be shares")
    return weights, names, places


def _numbers(names: Iterable[str]) -> list[RecordId]:
    """Give the integer IDs that these names are."""
    try:
        return [int(name) for name in names]
    except ValueError as error:
        raise CannotTell("weights by IDs of the type that record has") from error


def are_shares(declared: list[float] | dict[str, float]) -> bool:
    """Tell whether something can be drawn by these weights."""
    values = np.array([*(declared.values() if isinstance(declared, dict) else declared)])
    return bool(np.isfinite(values).all() and (values >= 0).all() and values.sum() > 0)


def _positions(view: StreamView) -> Integers:
    if view.has("index"):
        index = view.column("index")
        if index.vocabulary is None and not index.missing().any():
            positions: Integers = index.values.astype(np.int64)
            return positions
    if view.record.vocabulary is not None:
        raise CannotTell("index")
    return view.record.values


def collect_draws(
    view: StreamView,
    weights: npt.NDArray[np.float64],
    names: list[RecordId],
    places: Integers,
) -> Draws:
    """Count draws; a sequence that several ranks or epochs share is evidence once."""
    sequences: dict[bytes, Integers] = {}
    for _, of_rank in view.by_rank():
        mine, epoch = places[of_rank], view.epoch[of_rank]
        starts = np.flatnonzero(np.diff(epoch)) + 1
        sequences |= {part.tobytes(): part for part in np.split(mine, starts)}
    parts = list(sequences.values())
    return Draws(
        names=names,
        weights=weights / weights.sum(),
        counts=np.bincount(np.concatenate(parts), minlength=len(weights)),
        repeats=not all(are_distinct(part) for part in parts),
        sequences=parts,
    )


def without(view: StreamView, draws: Draws, known: Known) -> Draws:
    """Leave out the records of which it is known already that they never come.

    Args:
        view: the run that declares the weights.
        draws: what was drawn.
        known: what is known of the run that drew.
    """
    gone: set[str] = set()
    if known.missing is not None:
        gone |= {str(name) for name in view.identify(known.missing)}
    if known.places is not None and isinstance(view.declared("weights"), list):
        gone |= {str(place) for place in known.places.tolist()}
    if not gone:
        return draws
    kept = np.array([str(name) not in gone for name in draws.names]) | (draws.counts > 0)
    weights, place = draws.weights[kept], np.cumsum(kept) - 1
    return replace(
        draws,
        names=[name for name, keep in zip(draws.names, kept, strict=True) if keep],
        weights=weights / weights.sum(),
        counts=draws.counts[kept],
        sequences=[place[sequence] for sequence in draws.sequences],
    )


def log_odds_of_orders(draws: Draws) -> float:
    """Give the logarithm of how much likelier orders without repeats are by weights than by none.

    Each record is drawn by its weight among those that are left. That orders drawn so are as
    unlikely as odds of 1 to n, or more, has a chance of 1 in n at most (Markov's inequality).
    """
    equal = (draws.weights > 0).astype(np.float64)
    return sum(
        _log_chance_of_order(draws.weights, sequence) - _log_chance_of_order(equal, sequence)
        for sequence in draws.sequences
    )


def _log_chance_of_order(weights: npt.NDArray[np.float64], sequence: Integers) -> float:
    drawn, never = weights[sequence], np.ones(len(weights), np.bool_)
    never[sequence] = False
    left = weights[never].sum() + np.cumsum(drawn[::-1])[::-1]
    return float(np.log(drawn / left).sum())
