"""Records pipelines of WebDataset, iterated without a loader around them.

A sample that still has its `__key__` is known by it and by its shard: "shard-3.tar/0017". Where
a stage has left it out, as `to_tuple` does, the content is the ID, unless `ids` says more.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any
from urllib.parse import urlsplit

from webdataset.pipeline import DataPipeline

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
    stages = [type(stage).__name__ for stage in loader.pipeline]
    filters = [getattr(getattr(stage, "f", None), "__name__", "") for stage in loader.pipeline]
    about: dict[str, object] = {"shuffle": "_shuffle" in filters or "ResampledShards" in stages}
    if "ResampledShards" in stages:
        about["replacement"] = True
    writer = request.writer(loader=f"webdataset.{type(loader).__name__}", **about)
    twin = RecordedPipeline(loader, reader, Recorder(writer, reader.encode))
    twin._find_ids = request.ids is None  # noqa: SLF001
    return twin


class RecordedPipeline(RecordedIterable):
    """A pipeline that records what it yields; every attribute is the pipeline's own."""

    _find_ids = True

    def _read(self, element: Any, epoch: int, number: int) -> Any:
        if not isinstance(element, Mapping) or "__key__" not in element:
            return super()._read(element, epoch, number)
        keys, shards = element["__key__"], element.get("__url__")
        # Where the files lie is not what is in them.
        fields = {name: value for name, value in element.items() if not name.startswith("__")}
        if isinstance(keys, str):
            samples = [fields]
            known = [_name(keys, shards)]
        else:
            samples = [
                dict(zip(fields, row, strict=True)) for row in zip(*fields.values(), strict=True)
            ]
            known = [_name(*pair) for pair in zip(keys, shards or [None] * len(keys), strict=True)]
        return self._reader.read(element, epoch, number, known if self._find_ids else None, samples)


def _name(key: str, shard: str | None) -> str:
    return key if shard is None else f"{PurePath(urlsplit(shard).path).name}/{key}"
