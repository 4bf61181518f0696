"""A schedule's parts as one dataset: one after another, or merged as they come."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from detloader.tensorflow.attributed import AttributedDataset
from detloader.tensorflow.forms import check_spec
from detloader.tensorflow.from_python import Reading
from detloader.tensorflow.ledger import Ledger
from detloader.tensorflow.schedule import Schedule
from detloader.tensorflow.stream_mode import StreamMode

__all__ = ["MERGED", "dataset_of_schedule"]

MERGED = "merged_parts"
"""Name of the operation that merges parts as they come; its cycle is the number of workers."""


def dataset_of_schedule(schedule: Schedule, spec: Any) -> AttributedDataset:
    """Return the dataset of a schedule's samples, which keep their IDs.

    Raises:
        UsageError: the specification is none.
    """
    check_spec("spec", spec)
    parts = range(len(schedule.parts))
    ledger = Ledger(schedule)
    if schedule.mode is StreamMode.GLOBAL or schedule.deterministic or not parts:
        reading = Reading(schedule, ledger, parts, spec)
        return AttributedDataset(reading.samples(), ledger, reading)
    readings = [Reading(schedule, ledger, [part], spec).samples() for part in parts]
    merged = tf.data.Dataset.from_tensor_slices(readings).interleave(
        lambda reading: reading,
        cycle_length=len(parts),
        num_parallel_calls=tf.data.AUTOTUNE,
        deterministic=False,
        name=MERGED,
    )
    return AttributedDataset(merged, ledger)
