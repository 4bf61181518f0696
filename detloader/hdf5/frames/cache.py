"""Blocks as they were read, kept in memory."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

__all__ = ["BlockCache"]


class BlockCache:
    """Blocks by row of the table, without a limit; threads may share it, processes do not."""

    def __init__(self) -> None:
        self._blocks: dict[int, NDArray[Any]] = {}

    def get(self, row: int) -> NDArray[Any] | None:
        """Return a block; it may not be written to."""
        return self._blocks.get(row)

    def put(self, row: int, block: NDArray[Any]) -> None:
        """Keep a copy."""
        kept = block.copy()
        kept.flags.writeable = False
        self._blocks[row] = kept

    def __reduce__(self) -> tuple[type[BlockCache], tuple[()]]:
        # A worker process reads for itself.
        return type(self), ()
