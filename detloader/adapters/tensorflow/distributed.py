"""Records datasets that TensorFlow's strategies distribute over the devices of this process."""

# TensorFlow offers no way to ask its datasets, so this module reads their private fields.
# ruff: noqa: SLF001

from __future__ import annotations

from typing import Any

import tensorflow as tf

from detloader.adapters.distribution import parts_of, source_of
from detloader.adapters.request import Request
from detloader.adapters.tensorflow.declared import declare
from detloader.adapters.tensorflow.distributed_twins import RecordedDistributed
from detloader.adapters.tensorflow.plain import plain_reader
from detloader.adapters.tensorflow.replicas import ReplicaReader
from detloader.adapters.tensorflow.telling import Listener
from detloader.errors import UsageError
from detloader.recorder import Recorder

__all__ = ["rank_of_distributed", "wrap_distributed"]

_REMOTE = "TPUStrategy", "TPUStrategyV2", "ParameterServerStrategyV2", "ParameterServerStrategyV1"


def wrap_distributed(loader: Any, request: Request) -> RecordedDistributed:
    """Start recording a distributed dataset.

    Raises:
        UsageError: other processes, or other machines, take its elements.
    """
    strategy = type(loader._strategy).__name__
    if strategy in _REMOTE or not _is_local(loader):
        raise UsageError(
            f"a dataset that {strategy} distributes: its elements are not taken in this process; "
            "record the dataset in a loop of its own"
        )
    replicas = sum(map(len, loader._input_workers._fed_devices))
    one = plain_reader(source_of(loader), parts_of(loader)[0].element_spec, request)
    reader = ReplicaReader(one, replicas)
    writer = request.writer(
        **{"loader": "tf.distribute.DistributedDataset", **_declared(loader, replicas)}
    )
    recorder = Recorder(writer, reader.encode, sees_steps=True)
    return RecordedDistributed(loader, Listener(reader, recorder), recorder)


def rank_of_distributed(loader: Any) -> tuple[int, int] | None:
    """Return which of several processes reads a distributed dataset; None of one."""
    contexts = getattr(loader, "_input_contexts", [getattr(loader, "_input_context", None)])
    context = contexts[0]
    if len(contexts) > 1 or context is None or context.num_input_pipelines == 1:
        return None
    return context.input_pipeline_id, context.num_input_pipelines


def _is_local(loader: Any) -> bool:
    devices = map(tf.DeviceSpec.from_string, loader._input_workers.worker_devices)
    return len({(device.job, device.task) for device in devices}) == 1


def _declared(loader: Any, replicas: int) -> dict[str, Any]:
    """Return what the operations tell; a batch is what all replicas of this process take."""
    said = declare(source_of(loader))
    size = said.pop("batch_size", None)
    if size is None:
        return said
    if not hasattr(loader, "_original_dataset"):
        return {**said, "batch_size": size * replicas}
    return said if rank_of_distributed(loader) else {**said, "batch_size": size}
