"""What travels with each batch, from the process that made it to the loop."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from detloader.generators.looks import Looks

__all__ = ["Delivery", "Witness"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """What happened while one batch was made.

    Attributes:
        rows: number of records that were made.
        skipped: places of those that are none, and that the collating function left out.
        worker: number of the worker; None in the loop's own process.
        worker_seed: what the worker's global generators were seeded with.
        indices: where the sampler told to read; None for a data set that is not indexed.
        ids: what the user's `ids` found in the samples; None where it was not asked.
        looks: what was seen of generators; None where none moved, or nobody looked.
        one_off: which generators, in what was seen of the batch before in that worker, were of
            one sample; None where this one tells nothing of it.
        content: uint64, shape (rows,): digests; empty where there is none.
        unseen: why samples have no digests; None where they have, or were not to have any.
        labels: one for each row, None of one that was skipped; None where there are none.
        error: why this batch cannot be told; None where it can.
    """

    rows: int
    skipped: Sequence[int] = ()
    worker: int | None = None
    worker_seed: int | None = None
    indices: array[int] | list[str] | None = None
    ids: array[int] | list[str] | None = None
    looks: Looks | None = None
    one_off: Sequence[int] | None = None
    content: bytes = b""
    unseen: str | None = None
    labels: list[int | None] | None = None
    error: str | None = None

    @property
    def told_ids(self) -> array[int] | list[str] | None:
        """Those of `ids`, else indices; without any, content is to stand for them."""
        return self.indices if self.ids is None else self.ids


class Delivery(NamedTuple):
    """A batch and its witness; being a named tuple, it is pinned part by part."""

    batch: Any
    witness: Witness
