"""Runs that were taken up again elsewhere than they should have been."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tests.study.loaders import Loader, Log
from tests.study.plain import Pair, plain
from tests.study.sound import part_from

if TYPE_CHECKING:
    from random import Random

__all__ = ["missed_on_ranks", "missed_restart", "undeclared_restart"]


def missed_restart(rng: Random) -> Pair:
    """A restart goes on elsewhere than it should."""
    loader = plain(rng, order=rng.choice(["shuffled", "sequential"]), ranks=1, drop=False, key="")
    log = loader.deliver()
    rows = len(log.columns["record"])
    restart = rng.randint(10, rows - 12)
    kinds = ["from start", "gap", "overlap", "part from start", "other order", "other epoch"]
    kind = rng.choice(kinds if loader.order == "shuffled" and loader.epochs > 1 else kinds[:4])
    epoch = int(log.columns["epoch"][restart])
    began = int(np.searchsorted(log.columns["epoch"], epoch))
    resume = {"position": restart - began, "epoch": epoch, "unit": "records"}
    if kind.startswith("other"):
        return log, _other_order(loader, log, restart, kind).declare(resume=resume)
    if kind == "part from start":
        return log, log.declare(resume=resume, parent="run-before")
    start = {"from start": 0, "gap": restart + rng.randint(1, 5), "overlap": restart - 6}[kind]
    place = np.concatenate([np.arange(restart), np.arange(start, rows)])[:rows]
    again = log.take(place)
    columns = again.columns | {"resumed": np.arange(len(place)) >= restart}
    if kind == "from start" and "batch" in columns:
        del columns["batch"]
    return log, Log(columns, again.declared).declare(resume=resume)


def _other_order(loader: Loader, log: Log, restart: int, kind: str) -> Log:
    """Go on in the order of another epoch, or of another seed."""
    rows = np.arange(len(log.columns["record"]))
    if kind == "other order":
        other = replace(loader, seed=loader.seed + 1).deliver()
    else:
        epoch = log.columns["epoch"][restart]
        of_epoch = (rows >= restart) & (log.columns["epoch"] == epoch)
        step = loader.size if epoch == 0 else -loader.size
        other = log.take(np.where(of_epoch, rows + step, rows))
    kept = {"epoch", "batch", "worker"}
    columns = {
        name: of if name in kept else np.concatenate([of[:restart], other.columns[name][restart:]])
        for name, of in log.columns.items()
    }
    return Log(columns | {"resumed": rows >= restart}, log.declared)


def missed_on_ranks(rng: Random) -> Pair:
    """All ranks of a restart begin some steps from where they should."""
    loader = plain(
        rng,
        "batch",
        "batch_size",
        ranks=rng.randint(2, 4),
        size=rng.randint(100, 160),
        batch=rng.randint(1, 4),
        order=rng.choice(["shuffled", "sequential"]),
        drop=False,
        key="",
    )
    log = loader.deliver()
    steps = np.unique(np.stack([log.columns["epoch"], log.columns["batch"]]), axis=1).shape[1]
    told = rng.randint(3, steps - 4)
    return log, part_from(log, told, told + rng.choice([-3, -2, -1, 1, 2]))


def undeclared_restart(rng: Random) -> Pair:
    """The labels of a restart go on, and its records do not; nothing is declared."""
    loader = plain(
        rng,
        "batch",
        "batch_size",
        ranks=1,
        size=rng.randint(60, 120),
        batch=rng.randint(1, 4),
        epochs=rng.randint(2, 4),
        order=rng.choice(["shuffled", "sequential"]),
        drop=False,
        key="",
    )
    log = loader.deliver()
    first = rng.randrange(loader.epochs - 1) * loader.size
    told, began = (first + loader.batch * step for step in rng.sample(range(3, 11), 2))
    began = first if rng.random() < 0.3 else began
    end = first + loader.size
    labels = np.arange(told, end)[: end - began]
    places = np.arange(began, end)[: len(labels)]
    rest = np.arange(end, loader.epochs * loader.size)
    came, labelled = (log.take(np.concatenate([part, rest])).columns for part in (places, labels))
    kept = {name: of for name, of in labelled.items() if name in {"epoch", "batch", "worker"}}
    return log, Log(came | kept, log.declared)
