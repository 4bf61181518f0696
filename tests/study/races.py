"""Runs that differ by who was ready first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.study.loaders import Log
from tests.study.plain import Pair, plain

if TYPE_CHECKING:
    from random import Random

__all__ = ["overtaken_batches", "racing_readers"]


def racing_readers(rng: Random) -> Pair:
    """Readers deliver, or draw, in the order in which they are ready."""
    if rng.random() < 0.5:
        loader = plain(rng, "draws", key="record", choices=0, ranks=1)
        log = loader.deliver()
        places = np.arange(len(log.columns["draws"]))
        for place in range(0, len(places) - 1, 2):
            places[place : place + 2] = places[place : place + 2][:: rng.choice([1, -1])]
        places[:2] = [1, 0]
        columns = {name: log.columns[name][places] for name in ("draws",)}
        return log.declare(threads=4), Log(log.columns | columns, log.declared).declare(threads=4)
    loader = plain(rng, order="sequential", ranks=1, workers=0, epochs=1, key="", batch=1)
    log = loader.deliver()
    shards = rng.randint(2, 5)
    shard = np.sort(np.arange(loader.size) % shards)
    logs = []
    for number in range(2):
        turns = loader.rng(60 + number).permutation(shard)
        rows = np.argsort(np.argsort(turns, kind="stable"), kind="stable")
        columns = {name: of[rows] for name, of in (log.columns | {"shard": shard}).items()}
        kept = {name: log.columns[name] for name in ("epoch", "batch") if name in log.columns}
        logs.append(Log(columns | kept, log.declared).declare(threads=shards, shuffle=False))
    return logs[0], logs[1]


def overtaken_batches(rng: Random) -> Pair:
    """Workers hand over batches as they are done: in one run, as it may be declared, or in both."""
    workers = rng.randint(2, 4)
    loader = plain(
        rng,
        "worker",
        "workers",
        workers=workers,
        ranks=1,
        size=rng.randint(60, 200),
        batch=rng.randint(2, 6),
        epochs=rng.randint(1, 3),
        key="record",
        drop=False,
    )
    log = loader.deliver()
    places = np.arange(len(log.columns["record"]))
    number = np.flatnonzero(np.diff(log.columns["worker"], prepend=-1)).searchsorted(
        places, "right"
    )
    late = np.concatenate([[0.0], loader.rng(61).random(number[-1]) * 3 * workers])
    # A worker does its batches one after the other, and all those of an epoch before the next.
    done = number + late[number]
    for worker in range(workers):
        mine = log.columns["worker"] == worker
        done[mine] = np.maximum.accumulate(done[mine])
    order = np.lexsort((places, done, log.columns["epoch"]))
    other = log.take(order)
    kept = {name: log.columns[name] for name in ("batch",) if name in log.columns}
    other = Log(other.columns | kept, other.declared)
    if rng.random() < 0.5:
        promises = rng.sample([True, False], 2)
        log, other = (
            each.declare(deterministic=told)
            for each, told in zip((log, other), promises, strict=True)
        )
    return log, other
