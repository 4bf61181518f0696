"""Which seeds a TensorFlow dataset was given, as its operations tell.

An operation has two: that of TensorFlow as a whole (`tf.random.set_seed`), and its own. Where it
was given none of its own, TensorFlow makes one: it draws by that of the whole, and within a
function it counts.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from detloader.adapters.tensorflow.operations import Operation

__all__ = ["Drawing", "declare_seed", "drawing_in_chain", "drawing_in_function"]

_NO_WHOLE = 87654321
"""What stands for the seed of TensorFlow as a whole, where there is none but one's own."""

_LARGEST = 2**31 - 1
"""In the place of a pair of zeros, which would be none."""

_DRAWN = 10_000
"""How many of the seeds that TensorFlow draws are known to be drawn."""

_MOST = 8
"""Seeds that are told as that of the whole; the configuration has all."""


class Drawing(NamedTuple):
    """An operation that draws.

    Attributes:
        operation: what it is.
        seeds: that of TensorFlow as a whole, or what stands for none, and its own; None is what
            no graph tells.
        is_made: whether TensorFlow made the latter.
    """

    operation: Operation
    seeds: tuple[int | None, int | None]
    is_made: bool


def drawing_in_chain(operations: Iterable[Operation]) -> list[Drawing]:
    """Return the drawing ones of operations that were made outside of functions."""
    return [
        Drawing(each, (whole, own), whole not in {None, _NO_WHOLE} and own in _drawn_by(whole))
        for each, whole, own in _seeded(operations)
    ]


def drawing_in_function(operations: Iterable[Operation]) -> list[Drawing]:
    """Return the drawing ones of a function's operations, which are all, in their order."""
    found: list[Drawing] = []
    for each, whole, own in _seeded(operations):
        made = sum(drawing.is_made for drawing in found) or (0 if whole else _LARGEST)
        found.append(Drawing(each, (whole, own), whole != _NO_WHOLE and own == made))
    return found


def declare_seed(drawing: Sequence[Drawing]) -> dict[str, Any]:
    """Return the declared fields that tell which seed all were given; none where nobody knows.

    Several are told as text, and of those that TensorFlow made the one that it made them of.
    """
    seeds = [each.seeds for each in drawing]
    if _UNSEEDED in seeds:
        return {"seed": None}
    if not seeds or any(None in pair for pair in seeds):
        return {}
    whole = [*dict.fromkeys(whole for whole, _ in seeds if whole != _NO_WHOLE)]
    own = [*dict.fromkeys(each.seeds[1] for each in drawing if not each.is_made)]
    given = [*(f"global {seed}" for seed in whole), *own] if whole and own else whole or own
    if len(given) > _MOST:
        return {}
    made = [[each.operation.kind, each.seeds[1]] for each in drawing if each.is_made]
    config = {"derived_seeds": made, "inert": ["derived_seeds"]} if made else {}
    seed = given[0] if len(given) == 1 else ", ".join(map(str, given))
    return {"seed": seed, "config": config}


_UNSEEDED = 0, 0
"""What operations have where neither they nor TensorFlow as a whole were given a seed.

A seed of 0 is never this one: TensorFlow puts another pair in its place."""


def _seeded(operations: Iterable[Operation]) -> list[tuple[Operation, Any, Any]]:
    return [
        (each, each.arguments.get("seed"), each.arguments["seed2"])
        for each in operations
        if "seed2" in each.arguments
    ]


@functools.lru_cache(8)
def _drawn_by(whole: int) -> frozenset[int]:
    """Return the first seeds that TensorFlow draws, which has a generator of Python's for it."""
    generator = random.Random(whole)  # noqa: S311 - it is TensorFlow's choice
    return frozenset(generator.randint(0, _LARGEST) for _ in range(_DRAWN))
