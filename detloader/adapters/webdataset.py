"""Records pipelines of WebDataset, iterated without a loader around them.

A sample that still has its `__key__` is known by it and by its shard: "shard-3.tar/0017". Where
a stage has left it out, as `to_tuple` does, the content is the ID, unless `ids` says more. Where
the pipeline makes batches, each sample of one is a row.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from webdataset.pipeline import DataPipeline
from webdataset.pytorch import DataLoader

from detloader.adapters.builtins import RecordedIterable, reader_for
from detloader.adapters.request import Request
from detloader.recorder import Recorder

__all__ = ["RecordedPipeline", "suits", "wrap"]


def suits(loader: object) -> bool:
    """Tell whether this is a pipeline of WebDataset."""
    return isinstance(loader, DataPipeline)


def wrap(loader: DataPipeline, request: Request) -> RecordedPipeline:
    """Start recording a pipeline."""
    reader = reader_for(loader, request)
    kind = _kind_of_batches(loader)
    if request.batched is None:
        reader.batched = kind is not None
    stages = [type(stage).__name__ for stage in loader.pipeline]
    filters = [_name_of(stage) for stage in loader.pipeline]
    about: dict[str, object] = {"shuffle": "_shuffle" in filters or "ResampledShards" in stages}
    if "ResampledShards" in stages:
        about["replacement"] = True
    writer = request.writer(loader=f"webdataset.{type(loader).__name__}", **about)
    twin = RecordedPipeline(loader, reader, Recorder(writer, reader.encode))
    twin._find_ids = request.ids is None  # noqa: SLF001
    twin._kind = kind or "columns"  # noqa: SLF001
    twin._is_settled = request.batched is not None or reader.batched  # noqa: SLF001
    return twin


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
            kind = "listed" if _collation_of(stage) is None else "columns"
        elif _name_of(stage) in {"_unbatched", "_unlisted"}:
            kind = None
    return kind


def _collation_of(stage: Any) -> Any:
    given = inspect.signature(stage.f).bind(None, *stage.args, **stage.kw)
    given.apply_defaults()
    return given.arguments.get("collation_fn", stage)


def _name_of(stage: Any) -> str:
    return getattr(getattr(stage, "f", None), "__name__", "")


class RecordedPipeline(RecordedIterable):
    """A pipeline that records what it yields; every attribute is the pipeline's own."""

    _find_ids = True
    _kind = "columns"
    _is_settled = True

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
