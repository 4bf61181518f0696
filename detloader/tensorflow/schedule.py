"""How a generator's dataset comes about: which IDs are asked for, and what reads them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from detloader.order.partition import contiguous
from detloader.order.schedule import random_id_generator, uniform_id_generator
from detloader.tensorflow.stream_mode import StreamMode

__all__ = ["DataGenerator", "IdGenerator", "Schedule", "is_endless", "weights_of"]

DataGenerator = Callable[[Iterator[Any]], Iterable[Any]]
IdGenerator = Callable[[list[Any]], Iterable[Any]]


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """The arguments that decide which samples come, and in which order.

    Attributes:
        ids: record IDs in the caller's order; nobody changes them.
        workers: parts that were asked for; no more than there are IDs are made.
    """

    data_generator: DataGenerator
    id_generator: IdGenerator
    ids: tuple[Any, ...]
    preprocess: Callable[[Any], Any] | None
    workers: int
    mode: StreamMode
    deterministic: bool

    @functools.cached_property
    def parts(self) -> list[tuple[Any, ...]]:
        """The IDs of each part: contiguous, all IDs together."""
        wanted = self.workers if self.mode is StreamMode.FINITE else 1
        return [self.ids[part.start : part.stop] for part in contiguous(len(self.ids), wanted)]

    @property
    def cycle(self) -> int | None:
        """Visits that make one pass, where one call of the generator makes many."""
        name, options = _known(self.id_generator)
        return len(self.ids) if name == "uniform" and options.get("repeat", True) else None

    def declared(self, names: Sequence[Any] | None) -> dict[str, Any]:
        """Say what is known of the order, in the words of the manifest.

        Args:
            names: the IDs as they are on record; None where they repeat.
        """
        name, options = _known(self.id_generator)
        said: dict[str, Any] = {
            "loader": "create_interleaved_dataset_from_generator",
            "stream_mode": str(self.mode),
            "deterministic": self.deterministic or self.mode is StreamMode.GLOBAL,
            "workers": len(self.parts),
            "config": {"num_workers": self.workers},
        }
        if names is not None:
            said["source_size"] = len(names)
        if name == "random":
            # Of the others it is not said that records come once: a reader may yield more.
            said["replacement"] = True
        if name is not None:
            said["shuffle"] = name == "random" or bool(options.get("shuffle", name == "uniform"))
        if "seed" in options:
            said["seed"] = options["seed"]
        weights = weights_of(self.id_generator)
        if weights is not None and names is not None:
            said["weights"] = dict(zip(map(str, names), map(float, weights), strict=True))
        return said


def is_endless(id_generator: IdGenerator) -> bool:
    """Tell whether this is one of ours that never ends."""
    name, options = _known(id_generator)
    return name == "random" or (name == "uniform" and bool(options.get("repeat", True)))


def weights_of(id_generator: IdGenerator) -> Sequence[float] | None:
    """Return the weights that were given to `random_id_generator`."""
    name, options = _known(id_generator)
    weights: Sequence[float] | None = options.get("weights") if name == "random" else None
    return weights


def _known(id_generator: IdGenerator) -> tuple[str | None, dict[str, Any]]:
    """Return which generator this is, and the arguments that were bound to it."""
    options: dict[str, Any] = {}
    if isinstance(id_generator, functools.partial):
        options = id_generator.keywords
        id_generator = id_generator.func
    known: dict[Any, str] = {
        random_id_generator: "random",
        uniform_id_generator: "uniform",
        iter: "plain",
        list: "plain",
    }
    try:
        return known.get(id_generator), options
    except TypeError:
        return None, {}
