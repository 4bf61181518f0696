"""Records Grain's own datasets and loaders, as users build them.

`rewrite` makes a copy of the finished graph, in which `sources` note what is read, and `nodes`
what is drawn; `rows` travel with the elements, and `recorded` are the twins that users get.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import grain

from detloader.adapters import builtins
from detloader.adapters.declaring import overlaid
from detloader.adapters.grain.declared import declare, declare_unseen
from detloader.adapters.grain.recorded import (
    Delivered,
    RecordedDataLoader,
    RecordedDataset,
    RowEncoder,
)
from detloader.adapters.grain.rewrite import is_batched, is_known, nodes_of, witness
from detloader.adapters.ids import id_array
from detloader.adapters.request import Request
from detloader.errors import UsageError
from detloader.manifest.schema import Level
from detloader.recorder import Recorder

__all__ = ["suits", "wrap"]


def suits(loader: object) -> bool:
    """Tell whether this is a dataset or a loader of Grain, and not its iterator."""
    return isinstance(loader, grain.MapDataset | grain.IterDataset | grain.DataLoader)


def wrap(loader: Any, request: Request) -> Any:
    """Start recording; a `MapDataset` becomes the stream that iterating it would be.

    With `ids` as a key or a function of elements, any dataset is recorded as an iterable, whose
    elements are batches where its graph says so.
    """
    stream = _stream(loader)
    nodes = nodes_of(stream)
    if isinstance(request.ids, str) or callable(request.ids):
        batched = is_batched(stream) if request.batched is None else request.batched
        told = declare_unseen(nodes, known=all(map(is_known, nodes)), batched=batched)
        declared = overlaid(told, request.declared)
        return builtins.wrap(loader, replace(request, batched=batched, declared=declared))
    full = request.level is not Level.ORDER
    graph = witness(stream, request.digester if full else None)
    ids = _ids(request, graph.sources)
    declared = declare(nodes, graph.followed, graph.sources)
    writer = request.writer(loader=f"grain.{_kind(loader)}", **declared)
    rows = RowEncoder(graph, ids, full=full)
    recorder = Recorder[Delivered](writer, rows.encode, sees_steps=True)
    if isinstance(loader, grain.DataLoader):
        return RecordedDataLoader(loader, graph, recorder)
    return RecordedDataset(graph, recorder)


def _stream(loader: Any) -> Any:
    if isinstance(loader, grain.DataLoader):
        return loader._dataset  # noqa: SLF001
    return loader.to_iter_dataset() if isinstance(loader, grain.MapDataset) else loader


def _kind(loader: Any) -> str:
    kinds = (grain.DataLoader, grain.MapDataset, grain.IterDataset)
    return next(str(kind.__name__) for kind in kinds if isinstance(loader, kind))


def _ids(request: Request, sources: list[Any]) -> Any:
    if request.ids is None:
        return None
    if len(sources) != 1:
        message = f"ids name the records of one source, and this dataset has {len(sources)}"
        raise UsageError(message)
    return id_array(request.ids, len(sources[0]))
