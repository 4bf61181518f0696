"""Records pipelines of WebDataset, iterated without a loader around them.

A sample that still has its `__key__` is known by it and by its shard: "shard-3.tar/0017". Where
a stage has left it out, as `to_tuple` does, the content is the ID, unless `ids` says more. Where
the pipeline makes batches, each sample of one is a row.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from typing import Any, ClassVar, NamedTuple, NoReturn, cast
from urllib.parse import urlsplit

from webdataset.pipeline import DataPipeline
from webdataset.pytorch import DataLoader

from detloader.adapters.builtins import RecordedElements, reader_for
from detloader.adapters.pipeline_order import arguments_of, order_of, workers_of
from detloader.adapters.request import Request
from detloader.errors import UsageError
from detloader.recorder import Recorder

__all__ = ["RecordedPipeline", "suits", "wrap"]


def suits(loader: object) -> bool:
    """Tell whether this is a pipeline of WebDataset."""
    return isinstance(loader, DataPipeline)


def wrap(loader: DataPipeline, request: Request) -> RecordedPipeline:
    """Start recording a pipeline.

    Raises:
        UsageError: it is recorded already.
    """
    if isinstance(loader, RecordedPipeline):
        raise UsageError("this pipeline is recorded already: record the one that it was made of")
    reader = reader_for(loader, request)
    kind = _kind_of_batches(loader)
    if request.batched is None:
        reader.batched = kind is not None
    told = workers_of(loader) | order_of(loader, request.ranks or 1)
    writer = request.writer(loader=f"webdataset.{type(loader).__name__}", **told)
    twin = _twin_of(loader)
    twin._reader = reader  # noqa: SLF001
    twin._recorder = Recorder(writer, reader.encode)  # noqa: SLF001
    twin._find_ids = request.ids is None  # noqa: SLF001
    twin._kind = kind or "columns"  # noqa: SLF001
    twin._is_settled = request.batched is not None or reader.batched  # noqa: SLF001
    return twin


def _twin_of(loader: Any) -> RecordedPipeline:
    kind: Any = _recorded_kind(loader.__class__)
    twin = kind.__new__(kind)
    vars(twin).update(vars(loader))
    return cast("RecordedPipeline", twin)


@functools.cache
def _recorded_kind(kind: Any) -> type[RecordedPipeline]:
    base = _RecordedEpochs if hasattr(kind, "set_epoch") else RecordedPipeline
    return type(f"Recorded{kind.__name__}", (base, kind), {"unrecorded": kind})


def _kind_of_batches(pipeline: DataPipeline) -> str | None:
    """Tell what the batches are that leave a pipeline, as far as its stages show it.

    Returns:
        "stacked" by Torch, "columns" as WebDataset makes them of the values of each field,
        "listed" samples; None for no batches.
    """
    kind: str | None = None
    for stage in pipeline.pipeline:
        if isinstance(stage, DataLoader) and stage.batch_sampler is not None:
            kind = "stacked"
        elif isinstance(inner := getattr(stage, "dataset", stage), DataPipeline):
            kind = _kind_of_batches(inner)
        elif _name_of(stage) == "_batched":
            kind = "columns" if arguments_of(stage)["collation_fn"] else "listed"
        elif _name_of(stage) in {"_unbatched", "_unlisted"}:
            kind = None
    return kind


def _name_of(stage: Any) -> str:
    return getattr(getattr(stage, "f", None), "__name__", "")


class RecordedPipeline(RecordedElements, DataPipeline):
    """A pipeline of the class and the stages of another, that records what it yields.

    Attributes:
        unrecorded: the class of the pipeline that is recorded.
    """

    unrecorded: ClassVar[type[DataPipeline]]
    _find_ids = True
    _kind = "columns"
    _is_settled = True

    def __iter__(self) -> Iterator[Any]:
        """Iterate once, as the next epoch."""
        with self._recorder.breaks:
            elements = super().__iter__()
        return self._steps(elements)

    def compose(self, *_: Any) -> NoReturn:
        """Refuse further stages: they would make a pipeline that records nothing.

        Raises:
            UsageError: always.
        """
        message = (
            "what is made of a recorded pipeline would not be recorded: give it all of its stages "
            "first, then record it"
        )
        raise UsageError(message)

    def __reduce__(self) -> tuple[Callable[[Any], Any], tuple[Any]]:
        """Leave the recorder behind: a copy, or another process, records nothing."""
        kind: Any = self.unrecorded
        plain = kind.__new__(kind)
        kept = {name: value for name, value in vars(self).items() if name not in _RECORDING}
        vars(plain).update(kept)
        return _same, (plain,)

    def _read(self, element: Any, epoch: int, number: int) -> Any:
        if not self._is_settled:
            # A stage of the user's own may make batches, too.
            keys = element.get("__key__") if isinstance(element, Mapping) else None
            self._reader.batched = isinstance(keys, list)
            self._is_settled = True
        parts = _of_batch(element, self._kind) if self._reader.batched else _of_sample(element)
        known = parts.names if self._find_ids else None
        return self._reader.read(
            element, epoch, number, known, parts.samples, content_of=parts.content
        )


_RECORDING = {
    "_reader",
    "_recorder",
    "_epochs",
    "_told_epoch",
    "_find_ids",
    "_kind",
    "_is_settled",
}


def _same(pipeline: Any) -> Any:
    return pipeline


class _RecordedEpochs(RecordedPipeline):
    """A pipeline of the user's own class, which is told the epoch."""

    def set_epoch(self, epoch: int, *arguments: Any, **options: Any) -> Any:
        """Set the epoch whose order is next."""
        told: Any = super()
        result = told.set_epoch(epoch, *arguments, **options)
        self._hear_epoch(epoch)
        return result


class _Parts(NamedTuple):
    """What an element consists of.

    Attributes:
        names: of its records; None where they have lost them.
        samples: its records; None where the element is to be taken apart as arrays.
        content: the element without what says where the files lie.
    """

    names: list[str] | None
    samples: list[Any] | None
    content: Any


def _of_sample(sample: Any) -> _Parts:
    if not isinstance(sample, Mapping) or "__key__" not in sample:
        return _Parts(None, None, sample)
    names = [_name(sample["__key__"], sample.get("__url__"))] if _has_key(sample) else None
    return _Parts(names, None, _fields(sample))


def _of_batch(batch: Any, kind: str) -> _Parts:
    if isinstance(batch, list) and (kind == "listed" or all(map(_has_key, batch))):
        each = [_of_sample(sample) for sample in batch]
        names = [name for sample in each for name in sample.names or []]
        contents = [sample.content for sample in each]
        return _Parts(names if len(names) == len(batch) else None, contents, batch)
    is_named = isinstance(batch, Mapping)
    fields = _fields(batch) if is_named else batch
    samples = None if kind == "stacked" else _rows(fields)
    return _Parts(_names_in(batch) if is_named else None, samples, fields)


def _names_in(batch: Mapping[str, Any]) -> list[str] | None:
    keys = batch.get("__key__")
    if not isinstance(keys, list):
        return None
    shards = batch.get("__url__") or [None] * len(keys)
    return [_name(*pair) for pair in zip(keys, shards, strict=True)]


def _has_key(sample: Any) -> bool:
    return isinstance(sample, Mapping) and isinstance(sample.get("__key__"), str)


def _fields(sample: Mapping[str, Any]) -> dict[str, Any]:
    # Where the files lie is not what is in them.
    return {name: value for name, value in sample.items() if not name.startswith("__")}


def _rows(batch: Any) -> list[Any] | None:
    """Take a batch apart as WebDataset put it together; None where it was made otherwise.

    A column is an array, a tensor, or a list of whatever the samples held.
    """
    if not isinstance(batch, Mapping | list | tuple) or not batch:
        return None
    columns = list(batch.values() if isinstance(batch, Mapping) else batch)
    if not all(map(_is_column, columns)) or len(set(map(len, columns))) > 1:
        return None
    if isinstance(batch, Mapping):
        return [dict(zip(batch, row, strict=True)) for row in zip(*columns, strict=True)]
    return list(zip(*columns, strict=True))


def _is_column(column: Any) -> bool:
    return isinstance(column, list) or bool(getattr(column, "shape", ()))


def _name(key: str, shard: str | None) -> str:
    return key if shard is None else f"{PurePath(urlsplit(shard).path).name}/{key}"
