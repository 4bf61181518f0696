"""Orders in which workers take turns: each has a share of the source, and gives a batch of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from detloader.audits.columns import Integers

__all__ = ["formula_of_turns", "slices_in_turn"]

HEAD = 4096
"""Rows that are looked at before all are."""


def formula_of_turns(target: Integers, size: int) -> str | None:
    """Give the formula of workers in turn that gives this order, with `{}` for their source.

    Args:
        target: int64, shape (rows,): places in the source, as they came.
        size: places of the source.
    """
    found = _find_turns(target, size)
    return None if found is None else "interleave({}({{}}, {}), {})".format(*found)


def slices_in_turn(target: Integers, size: int) -> int | None:
    """Give the number of workers of which each has a slice, if they make this order in turn."""
    name, count, _ = _find_turns(target, size) or (None, None, 0)
    return count if name == "slices" else None


def _find_turns(target: Integers, size: int) -> tuple[str, int, int] | None:
    """Give what workers share, among how many, and the rows of a turn, that make this order."""
    for name, parts, rows in (*_by_slices(target, size), *_by_shards(target, size)):
        if any(np.array_equal(target, order) for order in _orders(parts, rows, len(target))):
            return name, len(parts), rows
    return None


def _by_shards(target: Integers, size: int) -> Iterator[tuple[str, list[Integers], int]]:
    """Read off how many workers there are that each have every n-th place."""
    seconds = np.flatnonzero(target[:HEAD] == 1)
    if target[0] or not len(seconds) or not 1 < target[1] <= size // 2:
        return
    count = int(target[1])
    yield "shards", [np.arange(part, size, count) for part in range(count)], int(seconds[0])


def _by_slices(target: Integers, size: int) -> Iterator[tuple[str, list[Integers], int]]:
    """Read off how many workers there are that each have a slice."""
    head = target[:HEAD]
    breaks = np.flatnonzero(head != np.arange(len(head)))
    if target[0] or not len(breaks) or target[breaks[0]] < 1:
        return
    rows, length = int(breaks[0]), int(target[breaks[0]])
    for count in {size // length, -(-size // length)}:
        if 1 < count <= size // 2:
            yield "slices", np.array_split(np.arange(size), count), rows


def _orders(parts: list[Integers], rows: int, wanted: int) -> Iterator[Integers]:
    """Give the orders of that many rows in turn, with the last batches of parts and without."""
    whole = [part[: len(part) - len(part) % rows] for part in parts]
    for dealt in (parts, whole):
        if sum(map(len, dealt)) == wanted:
            turn = np.concatenate([np.arange(len(part)) // rows for part in dealt])
            yield np.concatenate(dealt)[np.argsort(turn, kind="stable")]
