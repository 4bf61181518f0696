"""Faults that two runs show: each function gives a baseline and the run that differs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.study.loaders import Loader, Log, mix
from tests.study.sound import draw_loader, hide_some

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    import numpy.typing as npt

__all__ = ["BETWEEN"]

Pair = tuple[Log, Log]


def _base(rng: Random, *needed: str, **fixed: Any) -> Loader:
    """Draw a plain loader of a run that was left to its end."""
    plain: dict[str, Any] = {"stop": 1.0, "kept": 0, "split": False, "order": "shuffled"}
    fixed = plain | {"inside": False, "size": rng.randint(30, 90)} | fixed
    kept = frozenset({*needed, "shuffle", "seed", "purpose", "epoch"})
    return draw_loader(rng, hidden=hide_some(rng, kept), **fixed)


def _seed(rng: Random) -> Pair:
    """A seed is not used as it was given, or has no effect."""
    loader = _base(rng, purpose="train", drop=False)
    other = replace(loader, seed=loader.seed + 1)
    kind = rng.choice(["zero", "ignored", "unseeded", "truncated", "no effect"])
    if kind == "truncated":
        log = loader.deliver()
        given = loader.seed + 2**32
        return log.declare(seed_used=loader.seed), log.declare(seed=given, seed_used=loader.seed)
    if kind == "no effect":
        log = loader.deliver()
        return log, log.declare(seed=loader.seed + 1)
    logs = loader.deliver(), other.deliver()
    if kind == "unseeded":
        return logs[0].declare(seed=None), logs[1].declare(seed=None)
    given = 0 if kind == "zero" else 12
    return (
        logs[0].declare(seed=given, seed_used=loader.seed + 99),
        logs[1].declare(seed=given, seed_used=loader.seed + 100),
    )


def _source(rng: Random) -> Pair:
    """The source is enumerated in another order."""
    kind = rng.choice(["indices", "hash order", "text sort"])
    order = "shuffled" if kind == "indices" else "sequential"
    loader = _base(rng, ids="text", index=kind == "indices", order=order, key="")
    log = loader.deliver()
    names = loader.names()
    other = np.array(sorted(names), dtype=object)
    if kind != "text sort":
        other = names[loader.rng(8).permutation(loader.size)]
    place = {name: number for number, name in enumerate(names)}
    record = np.array([other[place[name]] for name in log.columns["record"]], dtype=object)
    raw = mix(7, [place[name] for name in record])
    content = {name: raw for name in ("raw", "content") if name in log.columns}
    moved = Log(log.columns | content | {"record": record}, log.declared)
    if kind != "hash order":
        return log, moved
    return log.declare(env={"PYTHONHASHSEED": "1"}), moved.declare(env={"PYTHONHASHSEED": "2"})


def _topology(rng: Random) -> Pair:
    """Draws, batches, or the order in which workers take turns, follow their number."""
    kind = rng.choice(["draws", "batches", "turns"])
    needed = ("workers", "worker", "draws" if kind == "draws" else "batch")
    workers = 1 if kind == "turns" else rng.randint(1, 3)
    loader = _base(
        rng,
        *needed,
        workers=workers,
        ranks=rng.choice([1, 2]) if kind == "draws" else 1,
        contiguous=False,
        key="worker" if kind == "draws" else "",
        choices=0,
        drop=False,
        size=rng.randint(60, 90),
        batch=rng.randint(2, 4),
        inside=kind != "draws",
        order=rng.choice(["shuffled", "sequential"]),
        epochs=rng.randint(1, 3),
        ids=rng.choice(["dense", "text"]) if kind == "draws" else "text",
        index=False,
    )
    logs = loader.deliver(), replace(loader, workers=workers + rng.randint(1, 3)).deliver()
    return (logs[0].hide("seed"), logs[1].hide("seed")) if kind == "turns" else logs


def _version(rng: Random) -> Pair:
    """An upgrade changes the permutation, or the draws."""
    loader = _base(rng, "draws", key="record", choices=0, drop=False)
    other = replace(loader, seed=loader.seed + 5)
    if rng.random() < 0.5:
        log, later = loader.deliver(), other.deliver().declare(seed=loader.seed)
    else:
        log = loader.deliver()
        draws = {"draws": mix(log.columns["draws"], 5)}
        if "content" in log.columns:
            draws["content"] = mix(log.columns["content"], 5)
        later = Log(log.columns | draws, log.declared)
    before, after = {"numpy": "1.16.6"}, {"numpy": "2.4.6"}
    return log.declare(versions=before), later.declare(versions=after)


class _Coupled(Loader):
    def order_of(self, epoch: int) -> npt.NDArray[np.int64]:
        return super().order_of(epoch if epoch < self.variant else 1000 + epoch)


def _coupling(rng: Random) -> Pair:
    """Something else draws from the shared stream between epochs."""
    epochs = rng.randint(2, 4)
    first = rng.randint(1, epochs - 1)
    loader = _base(rng, epochs=epochs, variant=first, drop=False, key="", purpose="train")
    coupled = _Coupled(**vars(loader))
    return loader.deliver(), coupled.deliver()


def _race(rng: Random) -> Pair:
    """Readers deliver, or draw, in the order in which they are ready."""
    if rng.random() < 0.5:
        loader = _base(rng, "draws", key="record", choices=0, ranks=1)
        log = loader.deliver()
        places = np.arange(len(log.columns["draws"]))
        for place in range(0, len(places) - 1, 2):
            places[place : place + 2] = places[place : place + 2][:: rng.choice([1, -1])]
        places[:2] = [1, 0]
        columns = {name: log.columns[name][places] for name in ("draws",)}
        return log.declare(threads=4), Log(log.columns | columns, log.declared).declare(threads=4)
    loader = _base(rng, order="sequential", ranks=1, workers=0, epochs=1, key="", batch=1)
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


def _resume(rng: Random) -> Pair:
    """A restart goes on elsewhere than it should."""
    loader = _base(rng, order=rng.choice(["shuffled", "sequential"]), ranks=1, drop=False, key="")
    log = loader.deliver()
    rows = len(log.columns["record"])
    restart = rng.randint(10, rows - 12)
    kind = rng.choice(["from start", "gap", "overlap", "part from start"])
    epoch = int(log.columns["epoch"][restart])
    began = int(np.searchsorted(log.columns["epoch"], epoch))
    resume = {"position": restart - began, "epoch": epoch, "unit": "records"}
    if kind == "part from start":
        return log, log.declare(resume=resume, parent="run-before")
    start = {"from start": 0, "gap": restart + rng.randint(1, 5), "overlap": restart - 6}[kind]
    place = np.concatenate([np.arange(restart), np.arange(start, rows)])[:rows]
    again = log.take(place)
    columns = again.columns | {"resumed": np.arange(len(place)) >= restart}
    if kind == "from start" and "batch" in columns:
        del columns["batch"]
    return log, Log(columns, again.declared).declare(resume=resume)


class _Skipping(Loader):
    def order_of(self, epoch: int) -> npt.NDArray[np.int64]:
        return super().order_of(epoch)[self.variant :]


def _skipped(rng: Random) -> Pair:
    """The first records of each epoch are skipped."""
    loader = _base(rng, ranks=1, workers=0, variant=rng.randint(1, 9))
    return loader.deliver(), _Skipping(**vars(loader)).deliver()


def _cache(rng: Random) -> Pair:
    """A stale cache is read after the configuration changed."""
    loader = _base(rng, "content", key="")
    log = loader.deliver().declare(cache=True)
    return log.declare(config={"scale": 2.0}), log.declare(config={"scale": rng.randint(3, 9)})


BETWEEN: dict[str, tuple[str, Callable[[Random], Pair]]] = {
    "seed not used": ("seed-handling", _seed),
    "other enumeration": ("source-order", _source),
    "other workers": ("topology-dependence", _topology),
    "other versions": ("version-stream", _version),
    "coupled streams": ("rng-coupling", _coupling),
    "racing readers": ("race", _race),
    "missed restart": ("resume-drift", _resume),
    "skipped beginnings": ("coverage-hole", _skipped),
    "stale cache": ("stale-cache", _cache),
}
"""Faults by name: the rule that must name each, and how two runs of it are drawn."""
