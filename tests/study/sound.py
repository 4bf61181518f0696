"""Sound runs and sound pairs of runs, drawn from the grammar."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.study.loaders import Loader, Log

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

__all__ = ["OPTIONAL", "PAIRS", "draw_loader", "draw_pair", "hide_some", "part_from"]

OPTIONAL = (
    "batch",
    "worker",
    "draws",
    "content",
    "raw",
    "purpose",
    "seed",
    "source_size",
    "num_epochs",
    "batch_size",
    "drop_remainder",
    "world_size",
    "workers",
    "replacement",
    "shuffle",
)
"""Columns and declared fields that a run may lack."""


def hide_some(rng: Random, needed: frozenset[str] = frozenset()) -> frozenset[str]:
    """Choose fields that a run lacks: none in half of the runs."""
    if rng.random() < 0.5:
        return frozenset()
    names = [name for name in OPTIONAL if name not in needed]
    return frozenset(rng.sample(names, min(len(names), rng.randint(1, 6))))


def draw_loader(rng: Random, **fixed: Any) -> Loader:
    """Draw a sound loader in which some fields are given."""
    order = rng.choice(["sequential", "shuffled", "shuffled", "shuffled", "uniform", "weighted"])
    order = fixed.get("order", order)
    drawn = order in {"uniform", "weighted"}
    purpose = "train" if drawn or rng.random() < 0.75 else "eval"
    purpose = fixed.get("purpose", purpose)
    ranks = fixed.get("ranks", rng.choice([1, 1, 1, 2, 3, 4]))
    workers = fixed.get("workers", rng.choice([0, 0, 1, 2, 2, 3, 4]))
    size = fixed.get("size", rng.choice([rng.randint(4, 30), rng.randint(20, 90), 200]))
    drop = purpose == "train" and order == "shuffled" and rng.random() < 0.4
    inside = workers > 1 and not drop and rng.random() < 0.3
    evened = "marked" if purpose == "eval" else "unmarked"
    drawn_fields: dict[str, Any] = {
        "size": size,
        "epochs": rng.choice([1, 1, 2, 3, 4]),
        "ranks": ranks,
        "workers": workers,
        "batch": rng.randint(1, 9),
        "drop": drop,
        "order": order,
        "ids": rng.choice(["dense", "dense", "sparse", "text"]),
        "index": rng.random() < 0.4,
        "contiguous": order != "shuffled" and rng.random() < 0.5,
        "inside": inside,
        "purpose": purpose,
        "key": rng.choice(["record", "position", "worker", ""]),
        "choices": rng.choice([0, 0, 2, 4]),
        "augmented": purpose == "train" and rng.random() < 0.7,
        "kept": rng.choice([0, 0, 0, 0, 3, 7]),
        "padding": rng.choice([evened, "uneven", "marked"]),
        "samples": rng.choice([1, 2, 10]) if drawn else 1,
        "stop": rng.choice([1.0, 1.0, 1.0, rng.random()]) if purpose == "train" else 1.0,
        "split": order == "shuffled" and rng.random() < 0.1,
        "members": rng.random() < 0.2,
        "seed": rng.randint(0, 10**6),
    }
    if order == "weighted":
        drawn_fields["weights"] = tuple(rng.choice([0.5, 1.0, 2.0, 7.0]) for _ in range(size))
    return Loader(**(drawn_fields | fixed))


# Pairs: each gives two logs of which the second differs from the first without a fault.


def _same(loader: Loader, rng: Random) -> tuple[Log, Log]:
    hidden = hide_some(rng)
    return loader.deliver(), replace(loader, hidden=hidden).deliver()


def _other_seed(loader: Loader, rng: Random) -> tuple[Log, Log]:
    return loader.deliver(), replace(loader, seed=loader.seed + rng.randint(1, 99)).deliver()


def _other_versions(loader: Loader, rng: Random) -> tuple[Log, Log]:
    log = loader.deliver()
    before, after = {"numpy": "1.26.4", "torch": "2.1.0"}, {"numpy": "2.4.6", "torch": "2.14.1"}
    return log.declare(versions=before), log.declare(versions=after)


def _other_machine(loader: Loader, rng: Random) -> tuple[Log, Log]:
    log = loader.deliver()
    env: list[dict[str, str | None]] = [{"PYTHONHASHSEED": "1"}, {"PYTHONHASHSEED": None}]
    return log.declare(env=env[0]), log.declare(env=env[1])


def _other_workers(loader: Loader, rng: Random) -> tuple[Log, Log]:
    plain = replace(loader, inside=False, key="record" if loader.key == "worker" else loader.key)
    return plain.deliver(), replace(plain, workers=plain.workers + rng.randint(1, 3)).deliver()


def _other_ranks(loader: Loader, rng: Random) -> tuple[Log, Log]:
    """Share each global batch out to the ranks in another way."""
    whole = replace(
        loader, ranks=rng.randint(2, 4), workers=0, key="record" if loader.key else "", inside=False
    )
    size = whole.size - whole.size % (whole.ranks * whole.batch)
    if size == 0:
        return _same(loader, rng)
    whole = replace(whole, size=size, kept=0, weights=whole.weights[:size], stop=1.0)
    whole = replace(whole, hidden=whole.hidden - {"batch"})
    log = whole.deliver()
    turned = dict(log.columns)
    turned["rank"] = (turned["rank"] + turned["batch"]) % whole.ranks
    return log, Log(turned, log.declared)


def _stopped(loader: Loader, rng: Random) -> tuple[Log, Log]:
    whole = replace(loader, stop=1.0, purpose="train", key=loader.key)
    short = replace(
        whole,
        epochs=rng.randint(1, whole.epochs),
        stop=rng.uniform(0.2, 1.0),
        hidden=frozenset({"num_epochs"}),
    )
    logs = whole.deliver(), short.deliver()
    return logs if rng.random() < 0.7 else (logs[1], logs[0])


def _resumed(loader: Loader, rng: Random) -> tuple[Log, Log]:
    """Restart exactly: with the rows before it, or in a run of its own."""
    log = replace(loader, ranks=1, stop=1.0).deliver()
    rows = len(log.columns["record"])
    if not rows:
        return log, log
    restart = rng.randrange(rows + 1)
    epoch = int(log.columns["epoch"][min(restart, rows - 1)])
    began = int(np.flatnonzero(log.columns["epoch"] == epoch)[0])
    resume = {"position": restart - began, "unit": "records", "epoch": epoch}
    marked = {"resumed": np.arange(rows) >= restart}
    if rng.random() < 0.5 or restart == rows:
        return log, Log(log.columns | marked, log.declared | {"resume": resume})
    later = log.take(np.arange(restart, rows))
    return log, later.declare(resume=resume, parent="run-before")


def part_from(log: Log, told: int, began: int) -> Log:
    """Give the part of a run that declares to begin at one of its steps, and begins at another."""
    step = log.columns["epoch"] * len(log.columns["epoch"]) + log.columns["batch"]
    steps = np.unique(step)
    row = int(np.argmax(step == steps[told]))
    place = {name: int(log.columns[name][row]) for name in ("epoch", "batch")}
    resume = {"position": place["batch"], "unit": "batches", "epoch": place["epoch"]}
    part = log.take(np.flatnonzero(step >= steps[began]))
    return part.declare(resume=resume, parent="run-before")


def _resumed_ranks(loader: Loader, rng: Random) -> tuple[Log, Log]:
    """Restart exactly, on several ranks, in a run of its own."""
    ranks = rng.randint(2, 4)
    hidden = loader.hidden - {"batch", "epoch", "batch_size"}
    log = replace(loader, ranks=ranks, stop=1.0, hidden=hidden).deliver()
    steps = np.unique(np.stack([log.columns["epoch"], log.columns["batch"]]), axis=1).shape[1]
    if not steps:
        return log, log
    restart = rng.randrange(steps)
    return log, part_from(log, restart, restart)


def _other_batches(loader: Loader, rng: Random) -> tuple[Log, Log]:
    whole = replace(loader, drop=False, inside=False, stop=1.0, workers=0)
    whole = replace(whole, key="record" if whole.key == "worker" else whole.key)
    return whole.deliver(), replace(whole, batch=whole.batch + rng.randint(1, 4)).deliver()


def _other_order(loader: Loader, rng: Random) -> tuple[Log, Log]:
    """Shuffle where the baseline is in source order, as declared."""
    sorted_one = replace(loader, order="sequential", weights=(), samples=1, drop=False)
    logs = sorted_one.deliver(), replace(sorted_one, order="shuffled").deliver()
    return logs if rng.random() < 0.5 else (logs[1], logs[0])


def _other_length(loader: Loader, rng: Random) -> tuple[Log, Log]:
    longer = replace(loader, epochs=loader.epochs + rng.randint(1, 3))
    logs = loader.deliver(), longer.deliver()
    return logs if rng.random() < 0.5 else (logs[1], logs[0])


PAIRS: dict[str, Callable[[Loader, Random], tuple[Log, Log]]] = {
    "pair: the same rows": _same,
    "pair: another seed": _other_seed,
    "pair: other versions": _other_versions,
    "pair: another machine": _other_machine,
    "pair: other workers": _other_workers,
    "pair: other ranks": _other_ranks,
    "pair: stopped early": _stopped,
    "pair: resumed exactly": _resumed,
    "pair: resumed ranks": _resumed_ranks,
    "pair: other batches": _other_batches,
    "pair: another order": _other_order,
    "pair: more epochs": _other_length,
}
"""Ways in which a run may differ from its baseline, by name."""


def draw_pair(rng: Random, kind: str) -> tuple[Log, Log]:
    """Draw two sound runs."""
    return PAIRS[kind](draw_loader(rng, hidden=hide_some(rng)), rng)
