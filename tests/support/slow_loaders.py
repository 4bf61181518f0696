"""Loaders that take their time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["delivering", "lasting", "waiting"]


def delivering(file: str) -> Iterator[int]:
    """Deliver records until there is such a file."""
    record = 0
    while not Path(file).exists():
        yield record
        record += 1


def lasting(seconds: float) -> Iterator[int]:
    """Deliver records for so many seconds."""
    end, record = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        yield record
        record += 1


def waiting(file: str) -> Iterator[int]:
    """Deliver records when there is such a file."""
    while not Path(file).exists():
        time.sleep(0.01)
    yield from range(10)
