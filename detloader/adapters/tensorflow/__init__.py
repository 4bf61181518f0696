"""Records TensorFlow's datasets, by a last operation that tells of each element it hands on.

The datasets of `create_interleaved_dataset_from_generator` and of `to_tf_dataset` say whose
each sample is. Of any other, `ids` says it, or the content stands for it.
"""

from __future__ import annotations

import contextlib
from typing import Any

import tensorflow as tf

from detloader.adapters.request import Request
from detloader.adapters.tensorflow.declared import declare
from detloader.adapters.tensorflow.distributed import rank_of_distributed, wrap_distributed
from detloader.adapters.tensorflow.distributed_twins import RecordedDistributed
from detloader.adapters.tensorflow.plain import plain_reader
from detloader.adapters.tensorflow.readers import MarkReader
from detloader.adapters.tensorflow.recorded import RecordedDataset
from detloader.errors import UsageError
from detloader.manifest.schema import Level
from detloader.recorder import Recorder
from detloader.tensorflow.attributed import AttributedDataset
from detloader.tensorflow.attribution import Attribution

__all__ = ["rank_of", "suits", "wrap"]


def suits(loader: object) -> bool:
    """Tell whether this is a dataset; an iterator over one is recorded as any iterable is."""
    return isinstance(loader, tf.data.Dataset | tf.distribute.DistributedDataset)


def rank_of(loader: Any) -> tuple[int, int] | None:
    """Return the rank that a distributed dataset is read for, and how many there are."""
    return None if isinstance(loader, tf.data.Dataset) else rank_of_distributed(loader)


def wrap(loader: Any, request: Request) -> RecordedDataset | RecordedDistributed:
    """Start recording a dataset."""
    if not isinstance(loader, tf.data.Dataset):
        return wrap_distributed(loader, request)
    if isinstance(loader, AttributedDataset) and _marks_suffice(loader, request):
        return _wrap_marked(loader, request)
    reader = plain_reader(loader, loader.element_spec, request)
    attribution = loader.attribution if isinstance(loader, AttributedDataset) else Attribution()
    said = declare(loader)
    if attribution.known:
        # Its own IDs may have no text; here others are recorded.
        with contextlib.suppress(UsageError):
            said = _both(said, attribution.declare())
    writer = request.writer(**{"loader": "tf.data.Dataset", **said})
    return RecordedDataset(
        loader, reader, Recorder(writer, reader.encode, sees_steps=True), attribution
    )


def _marks_suffice(loader: AttributedDataset, request: Request) -> bool:
    """Tell whether marks say whose each sample is, as far as the user does not know better."""
    batched = loader.mark_rank == 1
    return (
        loader.attribution.known
        and loader.mark_rank <= 1
        and request.ids is None
        and request.batched in {None, batched}
    )


def _wrap_marked(loader: AttributedDataset, request: Request) -> RecordedDataset:
    attribution = loader.attribution
    reader = MarkReader(
        attribution,
        loader.element_spec,
        batched=loader.mark_rank == 1,
        digester=None if request.level is Level.ORDER else request.digester,
    )
    writer = request.writer(**_both(declare(loader.pairs), attribution.declare()))
    return RecordedDataset(
        loader.pairs, reader, Recorder(writer, reader.encode, sees_steps=True), attribution
    )


def _both(graph: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Put together what the operations say and what the schedule they were put on says."""
    declared = {**graph, **{name: value for name, value in own.items() if value is not None}}
    if graph.get("shuffle"):
        declared["shuffle"] = True
    if "seed" in graph and None in (own.get("seed"), graph["seed"]):
        declared["seed"] = graph["seed"]
    declared["config"] = {**own.get("config", {}), **graph.get("config", {})}
    return declared
