"""Records the loaders of `to_torch_loader`, by recording the dataset that they read."""

from __future__ import annotations

from typing import Any, Self

from torch.utils.data import DataLoader

from detloader.adapters import find_adapter
from detloader.adapters.request import Request
from detloader.torch.batches import Batches

__all__ = ["RecordedBatches", "wrap_batches"]


def wrap_batches(loader: DataLoader[Any], batches: Batches, request: Request) -> RecordedBatches:
    """Start recording a loader of `to_torch_loader`, and what it reads."""
    source: Any = batches.source
    return RecordedBatches(loader, find_adapter(source).wrap(source, request))


class RecordedBatches(DataLoader[Any]):
    """A loader of `to_torch_loader` whose dataset is recorded."""

    def __init__(self, loader: DataLoader[Any], recorded: Any) -> None:
        super().__init__(
            Batches(recorded),
            batch_size=None,
            collate_fn=loader.collate_fn,
            pin_memory=loader.pin_memory,
            generator=loader.generator,
        )
        self._recorded = recorded

    def close(self) -> None:
        """Seal the run."""
        self._recorded.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Seal the run; after an error it is a part of what it was meant to be."""
        self._recorded.__exit__(*error)
