"""Records what `Accelerator.prepare` makes of a loader: the loader of Torch's within it.

What accelerate does around that one, such as to even out ranks and to move batches to a device,
goes on as it does. Where rank 0 reads for all (`dispatch_batches`), all rows are its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from torch.utils.data import DataLoader

from detloader.adapters import find_adapter, told_rank
from detloader.adapters.adopted import Adopted
from detloader.adapters.request import Request

__all__ = ["rank_of", "suits", "wrap"]


def suits(loader: object) -> bool:
    """Tell whether this holds a loader of Torch's, which it iterates."""
    return isinstance(getattr(loader, "base_dataloader", None), DataLoader)


def wrap(loader: Any, request: Request) -> RecordedPrepared:
    """Start recording what a prepared loader reads from.

    Raises:
        UsageError: it is recorded already, or has begun; or `ids` or `batched` makes no sense.
    """
    within = loader.base_dataloader
    return RecordedPrepared(loader, find_adapter(within).wrap(within, request))


def rank_of(loader: Any) -> tuple[int, int] | None:
    """Return the rank that a loader reads for and how many there are; None where nobody says."""
    return told_rank(loader.base_dataloader)


class RecordedPrepared:
    """A prepared loader whose batches are recorded; what it says of itself is the loader's own."""

    def __init__(self, loader: Any, twin: Any) -> None:
        self._loader = loader
        self._twin = twin
        self._release = Adopted(loader.base_dataloader, twin)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._loader)

    def __len__(self) -> int:
        return len(self._loader)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def close(self) -> None:
        """Seal the run."""
        self._twin.close()
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Seal the run; after an error it is a part of what it was meant to be."""
        self._twin.__exit__(*error)
        self._release()
