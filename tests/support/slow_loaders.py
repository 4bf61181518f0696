"""Loaders that take their time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["lasting"]


def lasting(seconds: float) -> Iterator[int]:
    """Deliver records for so many seconds."""
    end, record = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        yield record
        record += 1
