"""Where `helia_edge.utils` keeps these names, so that a script changes the package's name alone."""

from __future__ import annotations

from detloader.order.schedule import random_id_generator, uniform_id_generator
from detloader.seeding import set_random_seed
from detloader.tensorflow.interleaved import create_interleaved_dataset_from_generator
from detloader.tensorflow.stream_mode import StreamMode

__all__ = [
    "StreamMode",
    "create_interleaved_dataset_from_generator",
    "random_id_generator",
    "set_random_seed",
    "uniform_id_generator",
]
