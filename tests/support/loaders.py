"""A loader to record, and what was recorded of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from detloader.manifest.verify import verify_run

__all__ = ["Loader", "rows_of", "writing_threads"]


class Loader:
    """A loader as trainers know them."""

    def __init__(self, elements: list[Any]) -> None:
        self.elements = elements
        self.sampler = object()
        self.epochs: list[int] = []
        self.started = 0

    def __iter__(self) -> Iterator[Any]:
        self.started += 1
        return iter(self.elements)

    def __len__(self) -> int:
        return len(self.elements)

    def set_epoch(self, epoch: int) -> str:
        self.epochs.append(epoch)
        return "set"

    def state_dict(self) -> dict[str, int]:
        return {"started": self.started}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.started = state["started"]


def rows_of(run: Path, *columns: str) -> list[Any]:
    table = verify_run(run).streams["main"].table(list(columns))
    values = [table[name].to_pylist() for name in columns]
    return values[0] if len(values) == 1 else list(zip(*values, strict=True))


def writing_threads() -> int:
    """Count the threads of this process that write what is recorded; libraries have their own."""
    return sum(thread.name == "detloader-recorder" for thread in threading.enumerate())
