"""Readers of numbered records, datasets of them, and what was recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from detloader import create_interleaved_dataset_from_generator

__all__ = ["NUMBER", "as_list", "expand", "numbers", "stream"]

NUMBER = tf.TensorSpec((), tf.int64)


def numbers(ids: Iterable[int]) -> Iterator[int]:
    """Yield each ID as its own sample."""
    yield from ids


def expand(counts: dict[int, int]) -> Any:
    """Return a reader that yields as many samples of each ID."""

    def read(ids: Iterable[int]) -> Iterator[int]:
        for record in ids:
            yield from [record] * counts[record]

    return read


def stream(ids: Iterable[Any], **options: Any) -> Any:
    """Return a dataset of the IDs themselves."""
    arguments = {"data_generator": numbers, "id_generator": iter, "spec": NUMBER} | options
    return create_interleaved_dataset_from_generator(ids=ids, **arguments)


def as_list(dataset: Any) -> list[Any]:
    """Return the elements as Python's own numbers and lists."""
    return [np.asarray(element).tolist() for element in dataset.as_numpy_iterator()]
