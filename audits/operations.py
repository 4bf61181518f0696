"""What loaders do to an order, as maps of positions that can be run backwards.

A sequence of `size` places goes in, another comes out. `back` tells from which place of
the input each place of the output came; `forth` where a place of the input went, -1 where
it was dropped. Each `propose_…` reads its parameters off the target: the places in the
input that the wanted output has, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from detloader.audits.columns import Integers

__all__ = ["Operation", "proposals"]

HEAD = 4096
"""Rows that are looked at before all are: most orders are no shard, as these tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One step of a loader.

    Attributes:
        formula: how it is written, with `{}` where its input stands.
        size: places of the output.
        forth: places of the input to places of the output; -1 for what is dropped.
    """

    formula: str
    size: int
    forth: Callable[[Integers], Integers]


def proposals(target: Integers, size: int) -> Iterator[Operation]:
    """Yield the operations that could be the first to lead from `size` places to the target.

    Args:
        target: int64, shape (wanted,): for each wanted row its place in the input.
        size: places of the input.
    """
    for propose in (_reverse, _rotate, _drop_tail, _drop_head, _shard):
        operation = propose(target, size)
        if operation is not None:
            yield operation


def _reverse(_: Integers, size: int) -> Operation | None:
    return Operation(formula="reverse({})", size=size, forth=lambda place: size - 1 - place)


def _rotate(target: Integers, size: int) -> Operation | None:
    first = int(target[0])
    if first == 0:
        return None
    return Operation(
        formula=f"rotate({{}}, {first})", size=size, forth=lambda place: (place - first) % size
    )


def _drop_tail(target: Integers, size: int) -> Operation | None:
    kept = int(target.max()) + 1
    if kept == size:
        return None
    return Operation(
        formula=f"drop_tail({{}}, {size - kept})",
        size=kept,
        forth=lambda place: np.where(place < kept, place, -1),
    )


def _drop_head(target: Integers, size: int) -> Operation | None:
    dropped = int(target.min())
    if dropped == 0:
        return None
    return Operation(
        formula=f"drop_head({{}}, {dropped})",
        size=size - dropped,
        forth=lambda place: np.where(place >= dropped, place - dropped, -1),
    )


def _shard(target: Integers, size: int) -> Operation | None:
    stride = int(np.gcd.reduce(target[:HEAD] - target[0]))
    if stride > 1:
        stride = int(np.gcd.reduce(target - target[0]))
    if stride < 2 or stride >= size:  # noqa: PLR2004
        return None
    first = int(target[0]) % stride
    return Operation(
        formula=f"shard({{}}, {first} of {stride})",
        size=len(range(first, size, stride)),
        forth=lambda place: np.where((place - first) % stride == 0, (place - first) // stride, -1),
    )
