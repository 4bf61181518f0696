"""What becomes of the IDs of a generator's dataset."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["StreamMode"]


class StreamMode(StrEnum):
    """Who owns the schedule; each member equals its own text.

    Attributes:
        GLOBAL: one schedule of the caller's, finite or not, delivered as it is.
        FINITE: contiguous parts of the IDs, each with a reader that comes to an end.
    """

    GLOBAL = "global"
    FINITE = "finite"
