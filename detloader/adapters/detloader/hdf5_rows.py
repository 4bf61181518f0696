"""Makes the rows of what a Dataloader delivered, in the recorder's thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from detloader.adapters.digests import digest_column
from detloader.adapters.ids import id_array
from detloader.generators.folding import fold_draws
from detloader.hdf5.delivery.finishing import Witness
from detloader.hdf5.order.draws import Purpose
from detloader.hdf5.order.epochs import Pass
from detloader.hdf5.plan import Plan
from detloader.randomness import digest_draws, stream_key

__all__ = ["Delivered", "RowMaker", "declared_seeds", "origin_of"]


class Delivered(NamedTuple):
    """One element that the loop was given.

    Attributes:
        epoch: number of the first of the passes that its iteration makes.
        resumed: whether its iteration took up a saved state.
    """

    witness: Witness
    epoch: int
    resumed: bool

    @property
    def rows(self) -> int:
        """Number of records."""
        return len(self.witness.batch.span.rows)


def origin_of(plan: Plan, pass_: Pass) -> int:
    """Return the seed that an epoch's order comes of: the loader's, or one of `shuffle()`."""
    return pass_.seed if pass_.chosen and plan.settings.shuffle else plan.seed


def declared_seeds(plan: Plan, origins: Iterable[int]) -> dict[str, int | str | None]:
    """Return what a run declares of its seeds: of several the list, as text.

    A seed of `shuffle()` was given as much as that of the loader.
    """
    seeds = list(origins)
    used = seeds[0] if len(seeds) == 1 else ", ".join(map(str, seeds))
    drawn = plan.settings.seed is None and plan.seed in seeds
    return {"seed": None if drawn else used, "seed_used": used}


class RowMaker:
    """Makes the rows of what was delivered, in the recorder's thread.

    Attributes:
        seeds: those of the orders, in order of first use.
        origins: those that these come of; see `origin_of`.
        tell_origins: is told of them when there is a further one.
    """

    def __init__(self, plan: Plan, ids: object, *, full: bool) -> None:
        self._plan = plan
        self._full = full
        self._ids = None if ids is None else id_array(ids, len(plan.pipeline.table))
        # Keys only: sets that keep the order of first use.
        self.seeds: dict[int, None] = {}
        self.origins: dict[int, None] = {}
        self.tell_origins: Callable[[Iterable[int]], None] | None = None

    @property
    def ids_differ(self) -> bool:
        """Whether no two samples share an ID, as they do where a file is given twice."""
        if self._ids is not None:
            return len(self._ids.unique()) == len(self._ids)
        files = self._plan.files
        return len({file.name for file in files}) == len(files)

    def encode(self, chunks: Sequence[Delivered]) -> pa.Table:
        """Return one row for each record, in delivery order."""
        plan = self._plan
        counts = [chunk.rows for chunk in chunks]
        index = np.concatenate([chunk.witness.batch.span.rows for chunk in chunks])
        passes = np.concatenate([chunk.witness.batch.span.passes for chunk in chunks])
        first = np.array([chunk.epoch for chunk in chunks]) * plan.settings.dataset_repetitions
        self._note_seeds(chunk.witness.pass_ for chunk in chunks)
        columns: dict[str, Any] = {
            "record": self._record(index),
            "epoch": np.repeat(first, counts) + passes,
        }
        if plan.settings.batch_size is not None:
            columns["batch"] = np.repeat([chunk.witness.batch.number for chunk in chunks], counts)
        if self._full:
            columns |= self._digests(chunks)
        if plan.settings.shard_remainder == "pad":
            padding = [chunk.witness.batch.span.padding for chunk in chunks]
            columns["padding"] = np.concatenate(padding)
        columns["index"] = index
        columns["resumed"] = np.repeat([chunk.resumed for chunk in chunks], counts)
        return pa.table(columns)

    def _note_seeds(self, passes: Iterable[Pass]) -> None:
        if not self._plan.settings.shuffle:
            return
        known = len(self.origins)
        for pass_ in dict.fromkeys(passes):
            self.seeds[pass_.seed] = None
            self.origins[origin_of(self._plan, pass_)] = None
        if self.tell_origins is not None and len(self.origins) > known:
            self.tell_origins(self.origins)

    def _record(self, index: NDArray[np.int64]) -> pa.Array[Any]:
        if self._ids is not None:
            return self._ids.take(index)
        return self._plan.pipeline.records.ids(index)

    def _digests(self, chunks: Sequence[Delivered]) -> dict[str, Any]:
        content = [chunk.witness.content for chunk in chunks]
        return {
            "draws": pa.concat_arrays([self._draws(chunk.witness) for chunk in chunks]),
            "content": digest_column(content, [chunk.rows for chunk in chunks]),
            "raw": np.concatenate([chunk.witness.batch.raw for chunk in chunks]),
        }

    def _draws(self, witness: Witness) -> pa.Array[Any]:
        """Digest what was drawn for each sample; what its batch drew is part of it."""
        taken, positions = witness.batch.taken, witness.batch.span.positions
        if not witness.drawn and not taken.any():
            return pa.nulls(len(taken), pa.uint64())
        digests = np.zeros(len(taken), np.uint64)
        maker = self._plan.maker(witness.pass_)
        if taken.any():
            key = stream_key(maker.draw_seed(Purpose.CROP))
            digests = np.where(taken > 0, digest_draws(key, positions, taken), digests)
        if witness.drawn:
            key = stream_key(maker.draw_seed(Purpose.AUGMENTATION))
            drawn = np.array([witness.drawn], np.uint32)
            digests = fold_draws(digests, digest_draws(key, positions[:1], drawn))
        return pa.array(digests, mask=(taken == 0) & (witness.drawn == 0))
