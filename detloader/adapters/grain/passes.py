"""Passes of a `repeat` that does not reseed, which asks what is below for the same indices again.

Where it reseeds, an index tells its epoch; here the pass has to be counted on top. A run that is
taken up in a later pass has not seen how many epochs each of the others has, so that this
number is found beforehand, from the indices that one pass asks for.
"""

# Grain keeps what a node is made of to itself, so this module reads its private fields.
# ruff: noqa: SLF001

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from grain._src.python.dataset.transformations.repeat import RepeatMapDataset

from detloader.adapters.grain.sources import reading_later
from detloader.adapters.walk import bottom_up

__all__ = ["WitnessedRepeat", "epochs_of_a_pass", "is_replaying"]


def is_replaying(node: Any) -> bool:
    """Tell whether a node repeats its first epoch as it is."""
    is_repeat = type(node).__name__ == "RepeatMapDataset"
    return is_repeat and not getattr(node, "_reseed_each_epoch", True)


class WitnessedRepeat(RepeatMapDataset[Any]):
    """A repeat that does not reseed, and counts the passes of what is read below it."""

    def __init__(self, twin: RepeatMapDataset[Any], epochs: Mapping[int, int]) -> None:
        """Take the copy of a node, and how many epochs a pass has of each source's number."""
        self.__dict__.update(twin.__dict__)
        self.epochs = epochs

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.slice(index)
        with reading_later(self._before(index // self._parent_length)):
            return super().__getitem__(index)

    def _getitems(self, indices: Sequence[int]) -> Any:
        elements: list[Any] = []
        for number, asked in groupby(indices, lambda index: index // self._parent_length):
            with reading_later(self._before(number)):
                elements += super()._getitems([*asked])
        return elements

    def _before(self, passes: int) -> dict[int, int]:
        return {source: passes * epochs for source, epochs in self.epochs.items()}


def epochs_of_a_pass(node: Any, parents: Any) -> dict[int, int]:
    """Return how many epochs of each source a node has, by the identity of the source.

    Args:
        node: what is repeated, of finite length.
        parents: gives what is followed below a node.
    """
    asked = {id(node): (len(node) - 1, 1)}
    epochs: dict[int, int] = {}
    for each in [*bottom_up(node, parents)][::-1]:
        last, passes = asked.get(id(each), (0, 1))
        if not parents(each):
            epochs[id(each)] = passes * (last // max(len(each), 1) + 1)
        for parent, index in _asked(each, last):
            within = passes * (last // max(len(parent), 1) + 1) if is_replaying(each) else passes
            before = asked.get(id(parent), (0, 1))
            asked[id(parent)] = (max(index, before[0]), max(within, before[1]))
    return epochs


def _asked(node: Any, last: int) -> Iterator[tuple[Any, int]]:
    """Yield what a node asks, with the last index, where it is asked for none behind `last`."""
    name, parents = type(node).__name__, node.parents
    if name in {"ConcatenateMapDataset", "MixedMapDataset"}:
        yield from zip(parents, _last_of_each(node, last), strict=True)
    elif parents:
        yield parents[0], _last_of_parent(name, node, last)


def _last_of_parent(name: str, node: Any, last: int) -> int:
    below = max(len(node.parents[0]), 1)
    epoch, place = divmod(last, max(len(node), 1))
    match name:
        case "SliceMapDataset":
            return int(epoch * below + node._start + max(place * node._step, 0))
        case "BatchMapDataset":
            return int(epoch * below + min((place + 1) * node._batch_size, below) - 1)
        case "RepeatMapDataset" if is_replaying(node):
            return min(last, below - 1)
        case "ShuffleMapDataset":
            return (last // below + 1) * below - 1
        case "FlatMapMapDataset":
            return int(last // node._transform.max_fan_out)
        case _:
            return last


def _last_of_each(mixed: Any, last: int) -> list[int]:
    """Return the last index that a mixture asks each of its parts for."""
    lengths = [len(part) for part in mixed.parents]
    proportions = getattr(mixed._selection_map, "_proportions", None)
    if type(mixed).__name__ == "ConcatenateMapDataset":
        epochs = last // max(sum(lengths), 1) + 1
        return [epochs * length - 1 for length in lengths]
    if proportions is None:  # a map of the user's own, which as a rule asks for each element once
        return [length - 1 if length < sys.maxsize else 0 for length in lengths]
    # As Grain does it: each part has its share of what those before it have left.
    counts, left, rest = [], last + 1, sum(proportions)
    for proportion in proportions:
        behind = left * (rest - proportion) // rest
        counts.append(left - behind)
        left, rest = behind, rest - proportion
    return [max(count - 1, 0) for count in counts]
