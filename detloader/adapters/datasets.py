"""Records datasets of Hugging Face: those with rows to index, and those that stream.

A row's ID is its place in the table behind the dataset, whatever was shuffled or selected
since. Of a contiguous selection (`select(range(…))`, `shard`, `skip`), which has a table of its
own, that is the one that was cut, as far as it tells where. Streams do not tell which record
they read: there the ID is a column, or the content.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import datasets
import numpy as np
import pyarrow as pa

from detloader.adapters.cut_tables import first_place
from detloader.adapters.distinct_rows import count_distinct, is_naming
from detloader.adapters.elements import Delivered, ElementReader
from detloader.adapters.epochs import EpochNumbers
from detloader.adapters.ids import id_array, ids_of_elements
from detloader.adapters.request import IdSource, Request
from detloader.adapters.stream_order import order_of
from detloader.adapters.tables import rows_of_table
from detloader.findings import RecordId
from detloader.manifest.content import UndigestibleError
from detloader.manifest.schema import Level
from detloader.recorder import Recorder, Sealing

__all__ = ["RecordedDataset", "RecordedStream", "order", "places", "suits", "wrap"]


def suits(loader: object) -> bool:
    """Tell whether this is a dataset, and not a dictionary of several."""
    return isinstance(loader, datasets.Dataset | datasets.IterableDataset)


def wrap(loader: Any, request: Request) -> RecordedDataset | RecordedStream:
    """Start recording a dataset.

    Raises:
        UsageError: `ids` are those of rows, where an element is no row of a table.
    """
    if isinstance(loader, datasets.Dataset) and not request.batched:
        known = _ids_of_rows(loader, request.ids)
        about = _about(loader) | _about_table(loader, request.ids, known)
        return RecordedDataset(loader, _Watch(request, known, about))
    is_table = isinstance(loader, datasets.Dataset)
    ids_of_elements(request.ids, "a row that is a batch" if is_table else "a stream")
    kind = RecordedDataset if is_table else RecordedStream
    return kind(loader, _Watch(request, None, _about(loader)))


def places(dataset: object) -> pa.Array[Any] | None:
    """Return where each row stands in the table behind a dataset; None where it is its index."""
    if not isinstance(dataset, datasets.Dataset):
        return None
    first, mapping = first_place(dataset.data), _mapping(dataset)
    if mapping is None:
        return pa.array(np.arange(first, first + len(dataset))) if first else None
    return pa.array(mapping.to_numpy().astype(np.int64) + first)


def order(dataset: object) -> dict[str, Any]:
    """Return the declared fields that a stream tells of its order."""
    return order_of(dataset) if isinstance(dataset, datasets.IterableDataset) else {}


def _mapping(dataset: datasets.Dataset) -> pa.ChunkedArray[Any] | None:
    """Return the row of the table that each row is; None where they are the table's own."""
    table: Any = dataset._indices  # noqa: SLF001  # no other way tells where rows come from
    return None if table is None else table.column(0)


def _config(loader: Any) -> dict[str, object]:
    config = {"fingerprint": getattr(loader, "_fingerprint", None), "split": str(loader.split)}
    told: dict[str, object] = {
        name: value for name, value in config.items() if value not in {None, "None"}
    }
    # Nobody gives it: it follows from the data, whose differences have to be named.
    return told | {"inert": ["fingerprint"]} if "fingerprint" in told else told


def _about(loader: Any) -> dict[str, object]:
    about: dict[str, object] = {"loader": f"datasets.{_kind(loader)}", "config": _config(loader)}
    if isinstance(loader, datasets.Dataset) and _mapping(loader) is None:
        about["shuffle"] = False  # they are the rows of the table, as it has them
    return about | order(loader)


def _about_table(
    loader: datasets.Dataset, ids: IdSource | None, known: Sequence[RecordId] | None
) -> dict[str, object]:
    mapping, size = _mapping(loader), len(loader)
    is_part = first_place(loader.data) > 0
    distinct = size if mapping is None else count_distinct(mapping, len(loader.data))
    about: dict[str, object] = {} if is_part else {"source_size": len(loader.data)}
    config = _config(loader)
    if is_part or distinct < len(loader.data):
        # As `select`, `filter` and splits make it: what they left out is meant.
        about["num_samples"] = size
        config["filter"] = "select"
    if distinct < size:
        config["repeats"] = "select"
    elif _are_told_apart(loader, ids, known):
        about["replacement"] = False
    return about | {"config": config}


def _are_told_apart(
    loader: datasets.Dataset, ids: IdSource | None, known: Sequence[RecordId] | None
) -> bool:
    """Tell whether each row is known to have an ID of its own, which then repeats as it does."""
    if ids is None:
        return True
    if known is not None:
        return len(set(known)) == len(known)
    return isinstance(ids, str) and is_naming(loader, ids)


def _kind(loader: Any) -> str:
    return "Dataset" if isinstance(loader, datasets.Dataset) else "IterableDataset"


def _ids_of_rows(dataset: datasets.Dataset, ids: IdSource | None) -> list[RecordId] | None:
    """Return the ID of each row; None where an element itself is asked for it."""
    if isinstance(ids, str) or callable(ids):
        return None
    if ids is None:
        stands = places(dataset)
        numbers = range(len(dataset)) if stands is None else stands.to_numpy().tolist()
        return list(numbers)
    mapping = _mapping(dataset)
    of_table = id_array(ids, len(dataset.data))
    found: Any = of_table if mapping is None else of_table.take(mapping.combine_chunks())
    return list(found.to_pylist())


class _Watch:
    """What both kinds share: epochs are counted, elements read and handed to the recorder."""

    def __init__(
        self, request: Request, places: Sequence[RecordId] | None, about: dict[str, object]
    ) -> None:
        self._request = request
        self._places = places
        self._reader: ElementReader | None = None
        self.recorder = Recorder[Delivered](request.writer(**about), self._encode)
        self.epochs = EpochNumbers()

    def steps(
        self, elements: Iterator[Any], told: Callable[[], int | None], *, many: bool = False
    ) -> Iterator[Any]:
        """Pass the elements of one iteration on, each read before it is given away.

        Args:
            elements: those.
            told: asks the dataset for its epoch; None where it has none.
            many: whether an element is of several rows of the dataset.
        """
        first, epoch = 0, None
        with self.recorder.breaks:
            for number, element in enumerate(elements):
                if epoch is None:
                    # Not before the first element: an iterator may be made and never used.
                    epoch = self.epochs.begin(told())
                first += self._read(element, epoch, number, first, many=many)
                yield element

    def _read(self, element: Any, epoch: int, number: int, first: int, *, many: bool) -> int:
        batched = many or bool(self._request.batched)
        if self._reader is None:
            self._reader = self._make_reader(batched=batched)
        try:
            record = element if many else _row(element)
            samples = _samples(record) if batched else [record]
            last = first + len(samples)
            known = None if self._places is None else self._places[first:last]
            given = element if callable(self._request.ids) else record
            delivered = self._reader.read(given, epoch, number, known, samples)
        except Exception as error:  # noqa: BLE001  # whatever it is, the training goes on
            self.recorder.lose(error)
            return 0
        if delivered.rows:
            self.recorder.put(delivered)
        return delivered.rows

    def _make_reader(self, *, batched: bool) -> ElementReader:
        ids = self._request.ids
        found = ids if isinstance(ids, str) or callable(ids) else None
        content = self._request.level is not Level.ORDER
        digester = self._request.digester
        return ElementReader(found, batched=batched, content=content, digester=digester)

    def _encode(self, chunks: Sequence[Delivered]) -> pa.Table:
        assert self._reader is not None  # nothing is put before it is made
        return self._reader.encode(chunks)


class _Recorded(Sealing):
    """A dataset that records what iterating it delivers; what is made from it does not."""

    _watch: _Watch
    _original: Any

    def __iter__(self) -> Iterator[Any]:
        """Iterate once, as the next epoch."""
        return self._watch.steps(iter(self._original), self._told_epoch)

    def iter(self, batch_size: int, drop_last_batch: bool = False) -> Iterator[Any]:  # noqa: FBT001, FBT002 - the published parameter
        """Iterate once over batches, as the next epoch."""
        batches = self._original.iter(batch_size, drop_last_batch)
        return self._watch.steps(batches, self._told_epoch, many=True)

    def _told_epoch(self) -> int | None:
        return (
            self._original.epoch if isinstance(self._original, datasets.IterableDataset) else None
        )

    def __copy__(self) -> Any:
        return copy.copy(self._original)

    def __deepcopy__(self, memory: dict[int, Any]) -> Any:
        return copy.deepcopy(self._original, memory)

    def __reduce__(self) -> tuple[Callable[[Any], Any], tuple[Any]]:
        """Leave the recorder behind: another process records nothing here."""
        return _same, (self._original,)


def _same(dataset: Any) -> Any:
    return dataset


class RecordedDataset(_Recorded, datasets.Dataset):
    """A dataset with rows to index, recorded while it is iterated."""

    def __init__(self, original: datasets.Dataset, watch: _Watch) -> None:
        self.__dict__.update(original.__dict__)
        self._original = original
        self._watch = watch
        self._recorder = watch.recorder

    def __del__(self) -> None:
        """Leave the tables, which are the original's too."""


class RecordedStream(_Recorded, datasets.IterableDataset):
    """A dataset that streams, recorded while it is iterated."""

    def __init__(self, original: datasets.IterableDataset, watch: _Watch) -> None:
        self.__dict__.update(original.__dict__)
        self._original = original
        self._watch = watch
        self._recorder = watch.recorder

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch whose order is next."""
        self._original.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the iteration."""
        return self._original.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Set the state of the next iteration."""
        self._original.load_state_dict(state_dict)


def _row(element: Any) -> Any:
    """Return a row of the dataset: of one that gives tables, each has one."""
    rows = rows_of_table(element)
    return element if rows is None else rows[0]


def _samples(batch: Any) -> list[Any]:
    """Take a batch of columns apart into its rows; columns may be lists of anything."""
    if (rows := rows_of_table(batch)) is not None:
        return rows
    if not isinstance(batch, Mapping):
        message = f"a batch of type {type(batch).__name__} does not show its rows"
        raise UndigestibleError(message)
    names = list(batch)
    return [dict(zip(names, row, strict=True)) for row in zip(*batch.values(), strict=True)]
