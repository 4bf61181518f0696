"""Which rows a sampler added, so that all ranks have as many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import DataLoader, DistributedSampler

from detloader.adapters.torch.samplers import deciding_sampler, orderer_of, outer_sampler

__all__ = ["Padding", "padding_of"]

_PADS_AT_END = frozenset({"DistributedSampler", "StatefulDistributedSampler"})


@dataclass(frozen=True, slots=True)
class Padding:
    """How a sampler evens out the ranks: it goes on with records that it dealt before.

    Attributes:
        source_size: records before it begins again.
        ranks: how many ranks they are dealt to, one by one.
        rank: this one.
        batch_size: records of a batch.
    """

    source_size: int
    ranks: int
    rank: int
    batch_size: int

    def flags(self, batches: Sequence[int], rows: Sequence[int]) -> NDArray[np.bool_]:
        """Tell which rows were added.

        Args:
            batches: the number of each batch in its epoch.
            rows: how many each has.
        """
        places = [
            number * self.batch_size + place
            for number, count in zip(batches, rows, strict=True)
            for place in range(count)
        ]
        return np.array(places) * self.ranks + self.rank >= self.source_size


def padding_of(loader: DataLoader[Any]) -> Padding | None:
    """Return how a distributed sampler evens out its ranks; None where it does not."""
    sampler, outer = deciding_sampler(loader), outer_sampler(loader)
    if not isinstance(sampler, DistributedSampler) or sampler.drop_last:
        return None
    # A derived class may have put what was added anywhere.
    if orderer_of(sampler) not in _PADS_AT_END or orderer_of(outer) != "BatchSampler":
        return None
    size = len(sampler.dataset)  # type: ignore[arg-type]
    if size % sampler.num_replicas == 0:
        return None
    return Padding(size, sampler.num_replicas, sampler.rank, outer.batch_size)
