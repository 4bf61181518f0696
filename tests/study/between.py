"""Faults that two runs show: each function gives a baseline and the run that differs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tests.study.loaders import Loader, Log, mix
from tests.study.plain import Pair, plain
from tests.study.races import overtaken_batches, racing_readers
from tests.study.rates import dropped_weights, other_rates
from tests.study.restarts import missed_on_ranks, missed_restart, undeclared_restart

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    import numpy.typing as npt

__all__ = ["BETWEEN"]


def _seed(rng: Random) -> Pair:
    """A seed is not used as it was given, or has no effect."""
    loader = plain(rng, purpose="train", drop=False)
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
    loader = plain(rng, ids="text", index=kind == "indices", order=order, key="")
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
    loader = plain(
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
    loader = plain(rng, "draws", key="record", choices=0, drop=False)
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
    loader = plain(rng, epochs=epochs, variant=first, drop=False, key="", purpose="train")
    coupled = _Coupled(**vars(loader))
    return loader.deliver(), coupled.deliver()


class _Skipping(Loader):
    def order_of(self, epoch: int) -> npt.NDArray[np.int64]:
        return super().order_of(epoch)[self.variant :]


def _skipped(rng: Random) -> Pair:
    """The first records of each epoch are skipped."""
    loader = plain(rng, ranks=1, workers=0, variant=rng.randint(1, 9))
    return loader.deliver(), _Skipping(**vars(loader)).deliver()


def _cache(rng: Random) -> Pair:
    """A stale cache is read after the configuration changed."""
    loader = plain(rng, "content", key="")
    log = loader.deliver().declare(cache=True)
    return log.declare(config={"scale": 2.0}), log.declare(config={"scale": rng.randint(3, 9)})


BETWEEN: dict[str, tuple[str, Callable[[Random], Pair]]] = {
    "seed not used": ("seed-handling", _seed),
    "other enumeration": ("source-order", _source),
    "other workers": ("topology-dependence", _topology),
    "other versions": ("version-stream", _version),
    "coupled streams": ("rng-coupling", _coupling),
    "racing readers": ("race", racing_readers),
    "overtaken batches": ("race", overtaken_batches),
    "missed restart": ("resume-drift", missed_restart),
    "undeclared restart": ("resume-drift", undeclared_restart),
    "restarted ranks": ("resume-drift", missed_on_ranks),
    "dropped weights": ("ignored-weights", dropped_weights),
    "other rates": ("sampling-distribution", other_rates),
    "skipped beginnings": ("coverage-hole", _skipped),
    "stale cache": ("stale-cache", _cache),
}
"""Faults by name: the rule that must name each, and how two runs of it are drawn."""
