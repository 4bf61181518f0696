"""Shards: who reads which, and what comes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.study.loaders import Loader, Log, Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

__all__ = ["SHARDS", "deal_shards", "with_shards"]

SHARDS = 12
"""Shards of a source that is dealt to ranks; any number of ranks up to 4 divides it."""


def deal_shards(loader: Loader, epoch: int, orders: Sequence[npt.NDArray[np.int64]]) -> list[Rows]:
    """Deal shards to ranks, of which each sees them in an order; half a share waits in a buffer."""
    shards = np.array_split(np.arange(loader.size), SHARDS)
    shares: list[Rows] = []
    for rank, order in enumerate(orders):
        rng = loader.rng(epoch, rank)
        records = np.concatenate([shards[shard] for shard in order[rank :: loader.ranks]])
        index = _buffered(records, max(len(records) // 2, 1), rng)
        shares.append({"index": index, "padding": np.zeros(len(index), np.bool_)})
    return shares


def _buffered(
    records: npt.NDArray[np.int64], waiting: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    buffer, order = records[:waiting].tolist(), []
    for record in records[waiting:].tolist():
        place = int(rng.integers(len(buffer)))
        order.append(buffer[place])
        buffer[place] = record
    return np.array([*order, *rng.permutation(buffer).tolist()], np.int64)


def with_shards(log: Log, names: npt.NDArray[Any], shards: int) -> Log:
    """Tell of each row in which shard its record lies."""
    parts = np.array_split(names, shards)
    shard_of = {name: shard for shard, part in enumerate(parts) for name in part.tolist()}
    shard = np.array([shard_of[record] for record in log.columns["record"].tolist()], np.int64)
    return Log(log.columns | {"shard": shard}, log.declared)
