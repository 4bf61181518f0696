"""Whether the parts of a loader keep their records from epoch to epoch."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from detloader.audits.integers import distinct
from detloader.audits.measures.mixing import Stay, stay
from detloader.audits.measures.orders import sample_of_records

if TYPE_CHECKING:
    import numpy.typing as npt

    from detloader.audits.columns import Integers
    from detloader.audits.measures.deliverers import Deliverers
    from detloader.audits.view import StreamView

__all__ = ["stay_with_parts"]

OVERLAP = 0.1
"""Share of an epoch's records that may come from several parts where the parts share it out."""

Epochs = dict[int, "Integers"]


def stay_with_parts(view: StreamView, epochs: Epochs, deliverers: Deliverers) -> Stay | None:
    """Count what stays with its part over all epochs; None where parts share nothing out.

    Where whole shards are dealt out, these are counted: their records move together.
    """
    if not all(_is_shared_out(view, rows, deliverers) for rows in epochs.values()):
        return None
    units, chosen = _shards(view, epochs, deliverers) or _records(view, epochs)
    pairs = itertools.pairwise(chosen[epoch] for epoch in sorted(chosen))
    stays = [
        stay(
            (units[earlier], units[later]),
            (deliverers.of_row[earlier], deliverers.of_row[later]),
            len(deliverers),
        )
        for earlier, later in pairs
    ]
    return Stay(
        sum(one.stayed for one in stays),
        sum(one.common for one in stays),
        sum(one.log_chance for one in stays),
    )


def _is_shared_out(view: StreamView, rows: Integers, deliverers: Deliverers) -> bool:
    record = view.asked[rows]
    records = len(distinct(record))
    held = len(_pairs(record, deliverers.of_row[rows])[0])
    return held - records <= OVERLAP * records


def _records(view: StreamView, epochs: Epochs) -> tuple[Integers, Epochs]:
    of_sample = sample_of_records(view, epochs)
    return view.asked, {epoch: rows[of_sample[rows]] for epoch, rows in epochs.items()}


def _shards(
    view: StreamView, epochs: Epochs, deliverers: Deliverers
) -> tuple[npt.NDArray[Any], Epochs] | None:
    """Give the shard of each row, and a row of each; None where parts have shards in common."""
    if not view.has("shard"):
        return None
    shard = np.unique(view.column("shard").values, return_inverse=True)[1]
    first = {}
    for epoch, rows in epochs.items():
        shards, places = _pairs(shard[rows], deliverers.of_row[rows])
        if len(distinct(shards)) < len(shards):
            return None
        first[epoch] = rows[places]
    return shard, first


def _pairs(values: Integers, parts: Integers) -> tuple[Integers, Integers]:
    """Give the value of each distinct (value, part), and the first place that has it."""
    keys = values * (int(parts.max(initial=0)) + 1) + parts
    places = np.unique(keys, return_index=True)[1]
    return values[places], places
