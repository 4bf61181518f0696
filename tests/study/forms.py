"""Sound loaders of unusual forms: samplers, mixtures, curricula, buckets, streams.

Each overrides one step of a plain loader, as a fault does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tests.study.loaders import Loader, Log, Rows
from tests.study.sharded import SHARDS, deal_shards, with_shards
from tests.study.sound import draw_loader, hide_some

if TYPE_CHECKING:
    from random import Random

    import numpy.typing as npt

__all__ = ["FORMS", "draw_form"]


class Form(Loader):
    """A sound loader that is no plain pass over its source.

    Attributes:
        name: what the study's table calls it.
        undeclared: declared fields of a plain loader that do not fit.
        fixed: fields of the loader that the form needs.
    """

    name: ClassVar[str]
    undeclared: ClassVar[tuple[str, ...]] = ()
    fixed: ClassVar[dict[str, Any]] = {}

    @classmethod
    def draw(cls, rng: Random) -> Form:
        """Draw a loader of this form; records may repeat, so draws do not follow them."""
        plain = {"order": "shuffled", "purpose": "train", "drop": False, "kept": 0}
        fields = {"inside": False, "split": False, "padding": "uneven", "contiguous": False}
        fields |= {"size": rng.randint(30, 300), "key": rng.choice(["position", "worker", ""])}
        hidden = hide_some(rng)
        return cls(**vars(draw_loader(rng, **{**plain, **fields, **cls.fixed}, hidden=hidden)))

    def declared(self) -> dict[str, Any]:
        declared = super().declared()
        return {name: value for name, value in declared.items() if name not in self.undeclared}


class Sampled(Form):
    """Each epoch is another sample of the source."""

    name = "form: samples"

    def order_of(self, epoch: int) -> npt.NDArray[np.int64]:
        return super().order_of(epoch)[: self._samples]

    @property
    def _samples(self) -> int:
        return max(1, self.size * (1 + self.seed % 9) // 10)

    def declared(self) -> dict[str, Any]:
        return super().declared() | {"num_samples": self._samples}


class Growing(Form):
    """A curriculum: each epoch adds harder records, in the order of their difficulty."""

    name = "form: curriculum"
    undeclared = ("shuffle",)

    def order_of(self, epoch: int) -> npt.NDArray[np.int64]:
        harder = np.random.default_rng(5).permutation(self.size)
        return harder[: self.size * (epoch + 1) // self.epochs]


class Balanced(Form):
    """As many records of each class: those of rare classes come again and again."""

    name = "form: balanced classes"
    undeclared = ("replacement",)

    def order_of(self, epoch: int) -> npt.NDArray[np.int64]:
        rng = self.rng(epoch)
        rare = self.size // 4
        again = [rng.permutation(rare) for _ in range(4)]
        common = rare + rng.permutation(self.size - rare)
        both = np.concatenate([np.concatenate(again)[: len(common)], common])
        return rng.permutation(both)[: self.size]


class RepeatFactors(Form):
    """Records of rare classes come more than once an epoch, by a factor of their own."""

    name = "form: repeat factors"
    undeclared = ("replacement",)

    def order_of(self, epoch: int) -> npt.NDArray[np.int64]:
        rng, factors = self.rng(epoch), 1 + 2 * np.random.default_rng(5).random(self.size)
        times = np.where(np.arange(self.size) % 3, 1, factors + rng.random(self.size))
        return rng.permutation(np.repeat(np.arange(self.size), times.astype(np.int64)))


class Mixed(Form):
    """Two sources are mixed at a rate, each shuffled and begun again when it ends."""

    name = "form: mixture"
    undeclared = ("replacement",)

    def order_of(self, epoch: int) -> npt.NDArray[np.int64]:
        rng = self.rng(epoch)
        first = self.size // 3
        of_first = rng.random(self.size) < 0.2 + 0.3 * (self.seed % 3)
        order = np.empty(self.size, np.int64)
        for chosen, start, length in (
            (of_first, 0, first),
            (~of_first, first, self.size - first),
        ):
            rounds = [rng.permutation(length) for _ in range(self.size // length + 1)]
            order[chosen] = start + np.concatenate(rounds)[: chosen.sum()]
        return order

    def finish(self, log: Log) -> Log:
        first = set(self.names()[: self.size // 3].tolist())
        mixture = ["ab"[record not in first] for record in log.columns["record"].tolist()]
        return Log(log.columns | {"mixture": np.array(mixture, dtype=object)}, log.declared)


class Bucketed(Form):
    """Records of like length share a batch: windows are sorted, then batches shuffled."""

    name = "form: length buckets"
    fixed: ClassVar[dict[str, Any]] = {"ranks": 1}

    def order_of(self, epoch: int) -> npt.NDArray[np.int64]:
        length = np.random.default_rng(5).integers(1, 100, self.size)
        window = max(self.size // 3, 1)
        order = super().order_of(epoch)
        parts = [order[start : start + window] for start in range(0, self.size, window)]
        order = np.concatenate([part[np.argsort(length[part], kind="stable")] for part in parts])
        batches = [order[start : start + self.batch] for start in range(0, self.size, self.batch)]
        full = self.rng(epoch, 1).permutation(len(batches) - 1)
        return np.concatenate([*(batches[place] for place in full), batches[-1]])


class FilledUp(Form):
    """The first records come again, unmarked, so that all last batches are full."""

    name = "form: filled up"
    undeclared = ("drop_remainder",)

    def order_of(self, epoch: int) -> npt.NDArray[np.int64]:
        order = super().order_of(epoch)
        added = -len(order) % (self.ranks * self.batch)
        return np.concatenate([order, order[:added]])


class Streamed(Form):
    """Shards are shuffled, and what they hold by a buffer of half of it."""

    name = "form: shuffle buffer"
    fixed: ClassVar[dict[str, Any]] = {"ranks": 1, "workers": 0}

    def order_of(self, epoch: int) -> npt.NDArray[np.int64]:
        rng = self.rng(epoch)
        shards = np.array_split(np.arange(self.size), 16)
        waiting: list[int] = []
        order: list[int] = []
        for shard in rng.permutation(16):
            for record in shards[shard]:
                waiting.append(int(record))
                if 2 * len(waiting) > self.size:
                    order.append(waiting.pop(int(rng.integers(len(waiting)))))
        return np.array([*order, *rng.permutation(waiting)], np.int64)


class Resampled(Form):
    """Each rank draws shards with replacement."""

    name = "form: drawn shards"
    undeclared = ("replacement",)

    def deal(self, order: npt.NDArray[np.int64], epoch: int) -> list[dict[str, Any]]:
        shards = np.array_split(np.arange(self.size), 8)
        shares = []
        for rank in range(self.ranks):
            rng = self.rng(epoch, rank)
            drawn = [rng.permutation(shards[shard]) for shard in rng.integers(0, 8, 4)]
            index = np.concatenate(drawn)
            shares.append({"index": index, "padding": np.zeros(len(index), np.bool_)})
        return shares

    def finish(self, log: Log) -> Log:
        return with_shards(log, self.names(), 8)


class Sharded(Form):
    """Shards are shuffled and dealt to ranks, which shuffle by a buffer of half their share."""

    name = "form: shards of ranks"

    def deal(self, order: npt.NDArray[np.int64], epoch: int) -> list[Rows]:
        return deal_shards(self, epoch, [self.rng(epoch).permutation(SHARDS)] * self.ranks)

    def finish(self, log: Log) -> Log:
        return with_shards(log, self.names(), SHARDS)


class NeverDrawn(Form):
    """Records at the end of the source have weight zero."""

    name = "form: weights of zero"
    undeclared = ("replacement",)
    fixed: ClassVar[dict[str, Any]] = {"order": "weighted", "samples": 20}

    @classmethod
    def draw(cls, rng: Random) -> Form:
        form = super().draw(rng)
        zeros = 1 + form.size % max(form.workers, 2)
        return replace(form, weights=(*form.weights[:-zeros], *[0.0] * zeros))


class Filtered(Form):
    """A filter drops records at random in each epoch."""

    name = "form: random filter"

    def order_of(self, epoch: int) -> npt.NDArray[np.int64]:
        order = super().order_of(epoch)
        return order[self.rng(epoch, 3).random(len(order)) > 0.1]

    def declared(self) -> dict[str, Any]:
        return super().declared() | {"config": {"filter": "random"}}


FORMS: dict[str, type[Form]] = {form.name: form for form in Form.__subclasses__()}
"""All of them, by name."""


def draw_form(rng: Random, name: str) -> list[Log]:
    """Draw a run of a form, and in half of the cases another seed of it as its baseline."""
    form = FORMS[name].draw(rng)
    if rng.random() < 0.5:
        return [form.deliver()]
    return [form.deliver(), replace(form, seed=form.seed + rng.randint(1, 99)).deliver()]
