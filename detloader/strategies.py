"""Strategies of Hypothesis for tests of loaders: their axes, and small sources.

Needs the extra `hypothesis`. What shrinks best comes first in each: no workers, seed 0, one
record.

>>> from hypothesis import find
>>> find(axes({"workers": [0, 1, 2], "prefetch": [1, 4]}), lambda case: case["workers"] > 0)
{'workers': 1, 'prefetch': 1}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from detloader.extras import require

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["axes", "batch_sizes", "seeds", "sources", "workers"]

_st = require("hypothesis.strategies", extra="hypothesis")


def axes(over: Mapping[str, Sequence[Any]]) -> SearchStrategy[dict[str, Any]]:
    """Give one value of each axis; it shrinks to the first of each.

    Args:
        over: values of each axis, as `assert_invariant` takes them.
    """
    found: SearchStrategy[dict[str, Any]] = _st.fixed_dictionaries(
        {axis: _st.sampled_from(list(values)) for axis, values in over.items()}
    )
    return found


def workers(most: int = 2) -> SearchStrategy[int]:
    """Give a number of worker processes; each takes a moment to start."""
    found: SearchStrategy[int] = _st.integers(0, most)
    return found


def seeds() -> SearchStrategy[int]:
    """Give a seed that every loader takes: 0 <= seed < 2**32."""
    found: SearchStrategy[int] = _st.integers(0, 2**32 - 1)
    return found


def batch_sizes(most: int = 8) -> SearchStrategy[int | None]:
    """Give rows of a batch, or None for no batches."""
    found: SearchStrategy[int | None] = _st.none() | _st.integers(1, most)
    return found


def sources(most: int = 20) -> SearchStrategy[list[dict[str, Any]]]:
    """Give a source: a list of records, each with an ID of its own and some values.

    Record i is `{"id": i, "values": …}`, the values being an array of float32, of one shape
    (n,) in all records, 0 <= n <= 3.

    Args:
        most: records at most; there is at least one.
    """
    found: SearchStrategy[list[dict[str, Any]]] = _st.builds(
        _source, _st.integers(1, most), _st.integers(0, 3)
    )
    return found


def _source(records: int, length: int) -> list[dict[str, Any]]:
    import numpy as np

    rows = np.arange(records * length, dtype=np.float32).reshape(records, length)
    return [{"id": number, "values": row} for number, row in enumerate(rows)]
