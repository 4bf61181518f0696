"""Loaders of a grammar: what they declare, and how a sound one delivers.

A fault is a class that overrides one step of `Loader`, in a module of `faults`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Loader", "Log", "Rows", "mix"]

Rows = dict[str, Any]
"""Columns by name; arrays of one length."""


@dataclass(frozen=True)
class Log:
    """What one run leaves behind."""

    columns: Rows
    declared: dict[str, Any]

    def take(self, rows: npt.NDArray[Any]) -> Log:
        return replace(self, columns={name: of[rows] for name, of in self.columns.items()})

    def declare(self, **fields: Any) -> Log:
        return replace(self, declared=self.declared | fields)

    def hide(self, *names: str) -> Log:
        return Log(
            {name: of for name, of in self.columns.items() if name not in names},
            {name: of for name, of in self.declared.items() if name not in names},
        )


def mix(*keys: Any) -> npt.NDArray[np.uint64]:
    """Hash keys, numbers or arrays of them, to 63 bits."""
    mixed: npt.NDArray[np.uint64] = np.asarray(0x9E3779B97F4A7C15, np.uint64)
    with np.errstate(over="ignore"):
        for key in keys:
            mixed = (mixed ^ np.asarray(key).astype(np.uint64)) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
            mixed = mixed ^ (mixed >> np.uint64(32))
    return np.asarray(mixed >> np.uint64(1))


@dataclass(frozen=True, kw_only=True)
class Loader:
    """A sound loader.

    Attributes:
        order: "sequential", "shuffled", "uniform" (draws with replacement) or "weighted".
        ids: "dense" (source positions), "sparse" or "text".
        contiguous: whether ranks and workers get slices, and not every n-th record.
        inside: whether batches are formed inside workers, of the records of each.
        key: what draws are derived from: "record", "position", "worker", or "" without draws.
        choices: how many different draws there are; 0 for 63 bits.
        kept: 0, or keep the records whose position this does not divide.
        padding: how ranks are evened out: "marked", "unmarked", "dropped" or "uneven".
        samples: records that an epoch draws with replacement, over the size.
        stop: share of the last epoch that is delivered.
        variant: a number that chooses between forms of a fault.
    """

    rule: ClassVar[str] = ""

    size: int = 40
    epochs: int = 1
    ranks: int = 1
    workers: int = 0
    batch: int = 4
    drop: bool = False
    order: str = "shuffled"
    ids: str = "dense"
    index: bool = False
    contiguous: bool = False
    inside: bool = False
    purpose: str = "train"
    key: str = "record"
    choices: int = 0
    augmented: bool = True
    kept: int = 0
    padding: str = "uneven"
    samples: int = 1
    stop: float = 1.0
    split: bool = False
    members: bool = False
    seed: int = 0
    variant: int = 0
    weights: tuple[float, ...] = ()
    hidden: frozenset[str] = field(default_factory=frozenset)

    # How records are ordered and dealt out.

    def rng(self, *keys: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *keys])

    def order_of(self, epoch: int) -> npt.NDArray[np.int64]:
        """Give the source positions of one epoch."""
        rng = self.rng(epoch)
        if self.order == "uniform":
            return rng.integers(0, self.size, self.samples * self.size)
        if self.order == "weighted":
            shares = np.array(self.weights) / sum(self.weights)
            return rng.choice(self.size, self.samples * self.size, p=shares)
        order = np.arange(self.size) if self.order == "sequential" else rng.permutation(self.size)
        return order[order % self.kept != 0] if self.kept else order

    def deal(self, order: npt.NDArray[np.int64], epoch: int) -> list[Rows]:
        """Share an epoch out to ranks."""
        added = -len(order) % self.ranks
        if self.padding == "dropped":
            order = order[: len(order) - len(order) % self.ranks]
        elif self.padding != "uneven":
            order = np.concatenate([order, order[:added]])
        padded = np.zeros(len(order), np.bool_)
        if self.padding == "marked" and added:
            padded[-added:] = True
        return [
            {"index": order[part], "padding": padded[part]}
            for part in self.parts(len(order), self.ranks)
        ]

    def parts(self, length: int, parts: int) -> list[npt.NDArray[np.int64]]:
        places = np.arange(length)
        if self.contiguous:
            return np.array_split(places, parts)
        return [places[part::parts] for part in range(parts)]

    def batches(self, share: Rows) -> Rows:
        """Put the rows of one rank and epoch into batches, by workers."""
        places = np.arange(len(share["index"]))
        workers = max(self.workers, 1)
        dealt = self.parts(len(places), workers) if self.inside else [places]
        if self.drop:
            dealt = [part[: len(part) - len(part) % self.batch] for part in dealt]
        turns = [(number, part) for part in dealt for number in range(-(-len(part) // self.batch))]
        order = sorted(range(len(turns)), key=lambda place: turns[place][0])
        cut = [
            turns[place][1][turns[place][0] * self.batch :][: self.batch] for place in order
        ] or [places[:0]]
        batch = np.repeat(np.arange(len(cut)), [len(one) for one in cut])
        rows = {name: of[np.concatenate(cut)] for name, of in share.items()}
        owners = [next(w for w, p in enumerate(dealt) if p is turns[place][1]) for place in order]
        worker = np.array(owners, np.int64)[batch] if self.inside else batch % workers
        return rows | {"batch": batch, "worker": worker}

    # What a sample holds.

    def draws_of(self, rows: Rows) -> npt.NDArray[np.uint64]:
        """Give the draws of each row."""
        keys = {
            "record": (rows["index"],),
            "position": (rows["rank"], rows["place"]),
            "worker": (rows["rank"], rows["worker"], rows["turn"]),
        }[self.key]
        return mix(self.seed, rows["epoch"], *keys)

    def content_of(self, rows: Rows) -> npt.NDArray[np.uint64]:
        """Give the content of each row, before what depends on draws."""
        return mix(7, rows["index"])

    def names(self) -> npt.NDArray[Any]:
        """Give the record IDs by source position."""
        if self.ids == "sparse":
            ids = np.random.default_rng(11).integers(1, 1000, self.size)
            return np.asarray(np.cumsum(ids))
        if self.ids == "text":
            return np.array([f"case-{place}.png" for place in range(self.size)], dtype=object)
        return np.arange(self.size)

    def finish(self, log: Log) -> Log:
        """Change a finished log: a place for faults that no step makes."""
        return log

    # The run.

    def deliver(self) -> Log:
        """Run the loader to its end, or until it is stopped."""
        parts = [
            self.batches(share) | {"epoch": np.array(epoch), "rank": np.array(rank)}
            for epoch in range(self.epochs)
            for rank, share in enumerate(self.deal(self.order_of(epoch), epoch))
        ]
        if self.stop < 1:
            for part in parts[-self.ranks :]:
                last = int(self.stop * (1 + part["batch"].max(initial=0)))
                keep = part["batch"] < last
                part |= {name: of[keep] for name, of in part.items() if of.ndim}
        rows: Rows = {
            name: np.concatenate([np.broadcast_to(p[name], p["index"].shape) for p in parts])
            for name in parts[0]
        }
        return self._hidden(self.finish(Log(self._columns(rows), self.declared())))

    def _columns(self, rows: Rows) -> Rows:
        rows["place"] = _count(rows["epoch"], rows["rank"])
        rows["turn"] = _count(rows["epoch"], rows["rank"], rows["worker"])
        rows["record"] = self.names()[rows["index"]]
        rows["raw"] = self.content_of(rows)
        rows["content"] = rows["raw"]
        if self.key:
            draws = self.draws_of(rows)
            rows["draws"] = draws % np.uint64(self.choices) if self.choices else draws
            if self.augmented:
                rows["content"] = mix(rows["raw"], rows["draws"])
        if self.split:
            rows["split"] = np.where(mix(3, rows["index"]) % np.uint64(5) == 0, "val", "train")
        if self.members and self.key:
            rows["draws_image"] = rows["draws_mask"] = mix(5, rows["draws"])
        if self.members:
            rows["label_used"] = rows["label_true"] = mix(9, rows["index"]) % np.uint64(7)
        extra = {"place", "turn"} | (set() if self.index else {"index"})
        extra |= set() if self.padding == "marked" else {"padding"}
        extra |= {"rank"} if self.ranks == 1 else set()
        extra |= set() if self.workers else {"worker"}
        return {name: of for name, of in rows.items() if name not in extra}

    def declared(self) -> dict[str, Any]:
        """Give what the run declares."""
        drawn = self.order in {"uniform", "weighted"}
        declared: dict[str, Any] = {
            "purpose": self.purpose,
            "shuffle": self.order != "sequential",
            "seed": self.seed,
            "source_size": self.size,
            "num_epochs": self.epochs,
            "batch_size": self.batch,
            "drop_remainder": self.drop,
            "world_size": self.ranks,
            "workers": self.workers,
            "replacement": drawn,
        }
        if self.weights:
            names, weights = map(str, self.names()), [*self.weights]
            by_name = dict(zip(names, weights, strict=True))
            declared["weights"] = weights if self.ids == "dense" else by_name
        if drawn:
            declared["num_samples"] = self.samples * self.size
        if self.kept:
            declared["config"] = {"filter": f"position % {self.kept}"}
        return declared

    def _hidden(self, log: Log) -> Log:
        return log.hide(*(name for name in self.hidden if name not in {"record", "rank"}))


def _count(*labels: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Count the rows before each that have the same labels."""
    group = np.unique(np.stack(labels), axis=1, return_inverse=True)[1].ravel()
    order = np.argsort(group, kind="stable")
    lengths = np.bincount(group)
    place = np.empty(len(group), np.int64)
    place[order] = np.arange(len(group)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return place
