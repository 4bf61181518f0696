"""What `to_grain` reads, and what it calls for each record."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np

__all__ = ["DataSource", "Transform"]


class DataSource(Protocol):
    """Records by index: the same record for the same index, 0 <= index < len."""

    def __len__(self) -> int:
        """Return the number of records."""

    def __getitem__(self, index: int, /) -> Any:
        """Return the record at an index."""


# What a record holds is the user's; no type of ours could name it.
Transform: TypeAlias = "Callable[[Any, np.random.Generator], Any]"
