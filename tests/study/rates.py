"""Runs whose records come at other rates than in the baseline."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tests.study.loaders import Loader, Log
from tests.study.plain import Pair, plain

if TYPE_CHECKING:
    from random import Random

    import numpy.typing as npt

__all__ = ["dropped_weights", "other_rates"]


def dropped_weights(rng: Random) -> Pair:
    """One of the runs has a sampler that reads no weights in the place of one that does."""
    size, ranks = rng.randint(20, 60), rng.choice([1, 1, 2])
    kind = rng.choice(["uniform", "shuffled"])
    weighted = plain(
        rng,
        "source_size",
        "replacement",
        size=size,
        order="weighted",
        weights=(0.5, 8.0, *rng.choices([0.5, 1.0, 8.0], k=size - 2)),
        samples=1 if kind == "shuffled" else 60,
        epochs=60 if kind == "shuffled" else rng.randint(1, 2),
        ranks=ranks,
        padding="uneven",
        index=True,
        drop=False,
        key="",
        purpose="train",
    )
    logs = [weighted.deliver(), replace(weighted, order=kind, weights=()).deliver()]
    rng.shuffle(logs)
    return logs[0], logs[1]


class _Mixed(Loader):
    """Two sources, of which the first has a share of `variant` tenths."""

    def order_of(self, epoch: int) -> npt.NDArray[np.int64]:
        rng = self.rng(epoch)
        first = self.size // 3
        share = self.variant / 10
        each = np.array(
            [share / first] * first + [(1 - share) / (self.size - first)] * (self.size - first)
        )
        return rng.choice(self.size, self.samples * self.size, p=each)


def other_rates(rng: Random) -> Pair:
    """A mixture has other rates than the baseline's."""
    loader = plain(
        rng,
        size=rng.randint(20, 60),
        samples=60,
        variant=rng.randint(1, 3),
        epochs=1,
        drop=False,
        key="",
        purpose="train",
        padding="uneven",
        inside=False,
        index=False,
    )
    mixed = _Mixed(**vars(loader))
    logs = mixed.deliver(), replace(mixed, variant=rng.randint(6, 8), seed=mixed.seed).deliver()
    names = ("replacement", "drop_remainder", "source_size", "num_epochs")
    first, other = (_tell_mixture(log.hide(*names), loader) for log in logs)
    return first, other


def _tell_mixture(log: Log, loader: Loader) -> Log:
    first = set(loader.names()[: loader.size // 3].tolist())
    mixture = ["ab"[record not in first] for record in log.columns["record"].tolist()]
    return Log(log.columns | {"mixture": np.array(mixture, dtype=object)}, log.declared)
