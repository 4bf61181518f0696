"""Whether records that never came lie behind what did: there an early stop leaves them out."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from detloader.audits.measures.deliverers import deliverers_of
from detloader.audits.measures.losses import full_epochs, observed_batch_size
from detloader.audits.measures.orders import source_order

if TYPE_CHECKING:
    import numpy.typing as npt

    from detloader.audits.columns import Integers
    from detloader.audits.view import StreamView

__all__ = ["lie_behind", "parts_of"]


def lie_behind(view: StreamView, positions: Integers) -> bool:
    """Tell whether positions lie behind all that was delivered, or behind what each part did.

    Args:
        view: a run in source order.
        positions: shape (positions,), int64; places in the source.
    """
    places = source_order(view)
    if int(positions.min()) > int(places.max()):
        return True
    if full_epochs(view) < 2 and _lie_in_last_batches(view, places, positions):  # noqa: PLR2004
        return True
    ranks = [rows for _, rows in view.by_rank()]
    return any(
        _lie_between(
            [(int(places[rows].min()), int(places[rows].max())) for rows in parts], positions
        )
        for parts in (ranks, parts_of(view))
    )


def _lie_in_last_batches(view: StreamView, places: npt.NDArray[Any], positions: Integers) -> bool:
    """Tell whether positions are those of one more batch of parts that have every n-th place."""
    size = observed_batch_size(view)
    if size is None:
        return False
    claimed = np.zeros(len(positions), dtype=np.bool_)
    for rows in parts_of(view):
        mine = places[rows]
        stride = int(np.gcd.reduce(np.diff(mine))) if len(mine) > 1 else 0
        if stride < 2:  # noqa: PLR2004
            continue
        behind = (positions > mine[-1]) & ((positions - mine[-1]) % stride == 0)
        if np.count_nonzero(behind) > size:
            return False
        claimed |= behind
    return bool(claimed.all())


def _lie_between(parts: list[tuple[int, int]], positions: Integers) -> bool:
    """Tell whether positions lie between parts that are slices, each behind one of them."""
    parts = sorted(parts)
    apart = all(one[1] < other[0] for one, other in itertools.pairwise(parts))
    within = any(((positions > low) & (positions < high)).any() for low, high in parts)
    return apart and not within and int(positions.min()) > parts[0][0]


def parts_of(view: StreamView) -> list[Integers]:
    """Give the rows of each worker, or rank, in delivery order."""
    return [rows for _, rows in deliverers_of(view).split(view, view.delivery_order())]
