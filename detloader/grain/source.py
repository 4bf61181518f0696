"""What is read, and what is called for each record."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from detloader.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["DataSource", "Transform", "check_iterable", "check_source"]


class DataSource(Protocol):
    """Records by index: the same record for the same index, 0 <= index < len."""

    def __len__(self) -> int:
        """Return the number of records."""

    def __getitem__(self, index: int, /) -> Any:
        """Return the record at an index."""


# What a record holds is the user's; no type of ours could name it.
Transform: TypeAlias = "Callable[[Any, np.random.Generator], Any]"


def check_source(source: object) -> None:
    """Refuse what has no records by index.

    Raises:
        UsageError: it has no length, or no indexing.
    """
    if not hasattr(source, "__len__") or not hasattr(source, "__getitem__"):
        raise UsageError(
            f"source is a {type(source).__name__}; give what has len() and integer indexing, "
            "such as a list"
        )


def check_iterable(dataset: object) -> None:
    """Refuse what cannot be iterated.

    Raises:
        UsageError: it is neither iterable nor a sequence.
    """
    if not hasattr(dataset, "__iter__") and not hasattr(dataset, "__getitem__"):
        raise UsageError(f"dataset is a {type(dataset).__name__}; give what can be iterated")
