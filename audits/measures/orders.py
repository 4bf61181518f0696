"""Orders of a run, as they are held against a shuffle: by deliverer, against the source."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from detloader.audits.integers import are_distinct
from detloader.audits.measures.mixing import scatter
from detloader.audits.measures.shards import has_shards
from detloader.manifest.arrays import to_numpy

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from detloader.audits.columns import Flags, Integers
    from detloader.audits.measures.deliverers import Deliverers
    from detloader.audits.view import StreamView


__all__ = [
    "have_one_order",
    "log_chance_of_shards",
    "sample_of_records",
    "source_order",
    "streams_of",
]


SAMPLE = 131_072
"""Records of an epoch that are followed from one to the next."""

MOSTLY = 0.9
"""Share of rows from which on an epoch that is a pass has each record once."""


def source_order(view: StreamView) -> npt.NDArray[Any]:
    """Give each row a number that stands in the order of the source."""
    if view.has("index") and view.column("index").vocabulary is None:
        return view.column("index").values
    if view.record.vocabulary is None:
        return view.record.values
    import pyarrow as pa
    import pyarrow.compute as pc

    texts: Any = view.record.vocabulary
    table = pa.table({"text": texts, "length": pc.utf8_length(texts)})
    order, _ = to_numpy(pc.sort_indices(table, [("length", "ascending"), ("text", "ascending")]))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    ordered: npt.NDArray[Any] = place[view.record.values]
    return ordered


def streams_of(
    view: StreamView, epochs: dict[int, Integers], deliverers: Deliverers
) -> Iterator[tuple[int, Integers]]:
    """Give the rows of each deliverer in each epoch, each record once."""
    for epoch in sorted(epochs):
        for _, mine in deliverers.split(view, epochs[epoch]):
            once = mine
            if not are_distinct(view.asked[mine]):
                once = mine[np.sort(np.unique(view.asked[mine], return_index=True)[1])]
            if len(once) < MOSTLY * len(mine) and view.config("repeats") is None:
                continue  # parts of the source come again and again: what comes first is no order
            if len(once) > 1:
                yield epoch, once


def sample_of_records(view: StreamView, epochs: dict[int, Integers]) -> Flags:
    """Tell which rows have a record of a sample, the same records in all epochs."""
    longest = max(map(len, epochs.values()), default=0)
    step = longest // SAMPLE + 1
    if step == 1:
        return np.ones(view.rows, dtype=np.bool_)
    chosen: Flags = scatter(view.record.values) % np.uint64(step) == 0
    return chosen


def have_one_order(view: StreamView, epochs: dict[int, Integers], deliverers: Deliverers) -> bool:
    """Tell whether each deliverer has the same order in all epochs, the last perhaps cut short."""
    orders = []
    for epoch in sorted(epochs):
        parts = [mine for _, mine in deliverers.split(view, epochs[epoch])]
        orders.append(view.record.values[np.concatenate(parts)])
    *whole, last = orders
    return all(np.array_equal(order, whole[0]) for order in whole) and (
        not whole or len(last) < len(whole[0]) or np.array_equal(last, whole[0])
    )


def log_chance_of_shards(view: StreamView, rows: Integers) -> float:
    """Give the logarithm of the chance of an order of shards, if these were shuffled.

    They were if they come one after the other, or in another order than the source's. Few
    shards stand near that order by chance, and their records with them.
    """
    if not has_shards(view):
        return -math.inf
    shard = np.unique(view.column("shard").values[rows], return_inverse=True)[1]
    counts = np.bincount(shard)
    whole = int(np.count_nonzero(np.diff(shard))) + 1 == len(counts)
    in_source = np.argsort(np.bincount(shard, source_order(view)[rows]) / counts)
    places = (np.bincount(shard, np.arange(len(rows))) / counts)[in_source]
    shuffled = whole or bool((np.diff(places) < 0).any())
    return -math.lgamma(len(counts) + 1) if shuffled else -math.inf
