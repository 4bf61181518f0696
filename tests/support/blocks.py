"""What tests of recorded blocks iterate, and what they read of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf
import torch
from torch.utils.data import DataLoader, TensorDataset

from detloader import create_interleaved_dataset_from_generator, open_run

__all__ = ["fit", "interleaved", "loader", "records"]


def loader(**options: Any) -> DataLoader[Any]:
    """Make a loader of eight records."""
    return DataLoader(TensorDataset(torch.arange(8)), **options)


def interleaved() -> Any:
    """Make a dataset of TensorFlow of our own, of five records."""
    return create_interleaved_dataset_from_generator(
        iter, iter, range(5), tf.TensorSpec((), tf.int64)
    )


def records(run: Path, stream: str) -> list[Any]:
    """Return the IDs of a stream's rows."""
    return open_run(run).streams[stream].table(["record"])["record"].to_pylist()


def fit(batches: Any) -> None:
    """Stand for a trainer, whose loop nobody can change."""
    for _ in batches:
        pass
