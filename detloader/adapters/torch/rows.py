"""Makes the rows of what was delivered, in the recorder's thread."""

from __future__ import annotations

import functools
import itertools
import operator
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from detloader.adapters.digests import digest_column, digest_ids
from detloader.adapters.ids import fits_int64
from detloader.adapters.torch.padding import Padding
from detloader.adapters.torch.settling import count_settled, settle
from detloader.adapters.torch.witness import Witness
from detloader.errors import UsageError
from detloader.generators.folding import fold_draws
from detloader.generators.looks import digest_draws
from detloader.generators.witness import GLOBALS
from detloader.manifest.rounding import split_digests

if TYPE_CHECKING:
    from detloader.adapters.torch.order_seeds import OrderSeeds

__all__ = ["Columns", "Delivered", "RowMaker", "count_ready"]


@dataclass(frozen=True, slots=True)
class Delivered:
    """One batch that the loop was given.

    Attributes:
        number: label of the batch in its epoch.
        seed: what the sampler seeded the epoch's order with; None where it did not say.
        resumed: whether its iteration took up a checkpoint.
        order_seed: what the orders of all epochs come of; None where nobody says.
    """

    witness: Witness
    epoch: int
    number: int
    seed: int | None
    resumed: bool
    order_seed: int | None

    @property
    def rows(self) -> int:
        """Number of records."""
        return self.witness.rows - len(self.witness.skipped)

    @property
    def unseen(self) -> str | None:
        """Why its samples' content is not seen; None where it is."""
        return self.witness.unseen


@dataclass(frozen=True, kw_only=True, slots=True)
class Columns:
    """What the rows have beside `record` and `epoch`: it must not depend on when they are made.

    Attributes:
        batch: whether records come in batches.
        index: whether a sampler may say where records stand whose IDs are found in samples.
        generators: paths of the stored generators; None where nobody looks at any.
        content: whether samples are digested.
        worker: what is told of workers; nothing where there are none.
        seed: whether the sampler seeds each epoch's order anew.
        resumed: whether an iteration may take up a checkpoint.
        padding: how the sampler evens out the ranks; None where it does not.
    """

    batch: bool
    index: bool
    generators: Sequence[str] | None
    content: bool
    worker: Sequence[str]
    seed: bool
    resumed: bool
    padding: Padding | None


class RowMaker:
    """Makes rows of one loader's batches.

    Attributes:
        order_seeds: hears what their orders come of; None where nobody asks.
    """

    def __init__(self, columns: Columns, ids: pa.Array[Any] | None, size: int | None) -> None:
        """Say which columns there are.

        Args:
            columns: those.
            ids: ID of each index of the data set; None where the index is the ID.
            size: how many records indices count; None where nobody says.
        """
        self._columns = columns
        self._ids = ids
        self._size = size
        self._indexed: bool | None = None
        self._labelled: bool | None = None
        self.order_seeds: OrderSeeds | None = None

    def encode(self, chunks: Sequence[Delivered]) -> pa.Table:
        """Return one row for each record, in delivery order.

        Raises:
            UsageError: records have no ID.
        """
        chunks = _settled(chunks)
        counts = [chunk.witness.rows for chunk in chunks]
        told = self._columns
        if self.order_seeds is not None:
            self.order_seeds.note(chunk.order_seed for chunk in chunks)

        def each(value: Callable[[Delivered], Any]) -> Any:
            return np.repeat(np.array([value(chunk) for chunk in chunks]), counts)

        columns: dict[str, Any] = self._records(chunks)
        columns["epoch"] = each(lambda chunk: chunk.epoch)
        if told.batch:
            columns["batch"] = each(lambda chunk: chunk.number)
        if told.generators is not None:
            columns |= _draws(chunks, told.generators)
        if told.content:
            columns["content"] = digest_column([chunk.witness.content for chunk in chunks], counts)
        for name in told.worker:
            columns[name] = each(operator.attrgetter(f"witness.{name}"))
        if told.seed:
            # What an epoch is seeded with is said, or not, as it begins.
            unknown = each(lambda chunk: chunk.seed is None)
            columns["seed"] = pa.array(each(lambda chunk: chunk.seed or 0), mask=unknown)
        if told.resumed:
            columns["resumed"] = each(lambda chunk: chunk.resumed)
        if told.padding is not None:
            columns["padding"] = told.padding.flags([chunk.number for chunk in chunks], counts)
        return _without_skipped(pa.table(columns | self._labels(chunks)), chunks)

    def _records(self, chunks: Sequence[Delivered]) -> dict[str, Any]:
        found = [_ids_of(chunk.witness) for chunk in chunks]
        if isinstance(found[0], list):
            names = pa.array(list(itertools.chain(*found)), pa.string())
            return {"record": names} | self._index(chunks)
        if self._columns.index:
            return {"record": _joined(found)} | self._index(chunks)
        places = self._from_start(_joined(found))
        if self._ids is None:
            return {"record": places}
        return {"record": self._ids.take(places), "index": places}

    def _index(self, chunks: Sequence[Delivered]) -> dict[str, Any]:
        if self._indexed is None:
            # What is read by names, or gives batches that were made beforehand, has no places.
            self._indexed = self._columns.index and _has_places(chunks[0].witness)
        if not self._indexed:
            return {}
        counts = [chunk.witness.rows for chunk in chunks]
        known = [_has_places(chunk.witness) for chunk in chunks]
        told = [
            chunk.witness.indices if is_known else np.zeros(chunk.witness.rows)
            for chunk, is_known in zip(chunks, known, strict=True)
        ]
        unknown = ~np.repeat(known, counts)
        return {"index": pa.array(self._from_start(_joined(told)), mask=unknown)}

    def _from_start(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count places from the beginning: data sets that are lists count from the end, too."""
        return places if self._size is None else np.where(places < 0, places + self._size, places)

    def _labels(self, chunks: Sequence[Delivered]) -> dict[str, Any]:
        if self._labelled is None:
            self._labelled = chunks[0].witness.labels is not None
        if not self._labelled:
            return {}
        unknown: list[int | None] = [None]
        told = (chunk.witness.labels or unknown * chunk.witness.rows for chunk in chunks)
        labels = list(itertools.chain(*told))
        try:
            return {"label": pa.array(labels, pa.int64())}
        except (OverflowError, pa.ArrowInvalid):
            # Labels are shown and never compared: one that the column cannot hold is none.
            fit = [None if label is None or not fits_int64(label) else label for label in labels]
            return {"label": pa.array(fit, pa.int64())}


def count_ready(chunks: Sequence[Delivered]) -> int:
    """Return how many of the batches, from the first on, can be written."""
    return count_settled([chunk.witness for chunk in chunks])


def _settled(chunks: Sequence[Delivered]) -> list[Delivered]:
    witnesses = settle([chunk.witness for chunk in chunks])
    return [
        chunk if each is chunk.witness else replace(chunk, witness=each)
        for chunk, each in zip(chunks, witnesses, strict=True)
    ]


def _without_skipped(rows: pa.Table, chunks: Sequence[Delivered]) -> pa.Table:
    if not any(chunk.witness.skipped for chunk in chunks):
        return rows
    kept = np.ones(len(rows), np.bool_)
    first = 0
    for chunk in chunks:
        kept[[first + place for place in chunk.witness.skipped]] = False
        first += chunk.witness.rows
    return rows.filter(pa.array(kept))


def _has_places(witness: Witness) -> bool:
    return isinstance(witness.indices, array)


def _joined(numbers: Sequence[Any]) -> NDArray[np.int64]:
    return np.concatenate([np.asarray(some, np.int64) for some in numbers])


def _ids_of(witness: Witness) -> array[int] | list[str]:
    if (told := witness.told_ids) is not None:
        return told
    if not witness.content:
        why = f" ({witness.unseen})" if witness.unseen else ""
        message = f"samples have neither an ID nor content that could stand for it{why}: give ids"
        raise UsageError(message)
    return digest_ids(split_digests(witness.content, witness.rows))


def _draws(chunks: Sequence[Delivered], generators: Sequence[str]) -> dict[str, Any]:
    names = [*GLOBALS, *generators, "others"]
    looks = [(chunk.witness.rows, chunk.witness.looks) for chunk in chunks]
    digests = digest_draws(looks, len(names)).T
    together = functools.reduce(fold_draws, digests)
    # What the others drew is in the column of all, and has no name of its own.
    columns = {"draws": together} | {
        f"draws_{name}": digest for name, digest in zip(names[:-1], digests, strict=False)
    }
    return {name: pa.array(digest, mask=digest == 0) for name, digest in columns.items()}
