"""What tests of recorded blocks iterate, and what they read of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, TensorDataset

from detloader import open_run

__all__ = ["fit", "loader", "records"]


def loader(**options: Any) -> DataLoader[Any]:
    """Make a loader of eight records."""
    return DataLoader(TensorDataset(torch.arange(8)), **options)


def records(run: Path, stream: str) -> list[Any]:
    """Return the IDs of a stream's rows."""
    return open_run(run).streams[stream].table(["record"])["record"].to_pylist()


def fit(batches: Any) -> None:
    """Stand for a trainer, whose loop nobody can change."""
    for _ in batches:
        pass
