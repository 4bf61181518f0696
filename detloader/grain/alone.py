"""One record of a loader, made again alone, with every draw that was taken for it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from detloader.generators.listening import Draw, ListeningGenerator
from detloader.grain.elements import ElementMaker, Witnessing
from detloader.grain.plan import Plan
from detloader.grain.samples import owned, stack
from detloader.grain.source import DataSource, Transform
from detloader.manifest.content import UndigestibleError
from detloader.manifest.rounding import Digester, digest_values, split_digests
from detloader.randomness import PositionGenerator, digest_draws, stream_key

__all__ = ["Alone", "make_alone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alone:
    """A record as it was made again.

    Attributes:
        position: its place in the stream.
        index: where it was read in the source.
        draws: what was drawn for it, call by call.
        taken: 32-bit words drawn.
        draws_digest: the digest that a run has in `draws`; None where nothing was drawn.
        content: the digest that a run has in `content`; None where the sample has no bytes of
            its own.
        content_in_batch: makes its batch, and gives the digest that it has there; it is
            another one where the batch has mixed types.
        changed_in_place: whether the source's own record is another one now.
    """

    position: int
    index: int
    draws: tuple[Draw, ...]
    taken: int
    draws_digest: int | None
    content: int | str | None
    content_in_batch: Callable[[], int | str | None]
    changed_in_place: bool

    def content_like(self, recorded: int | str | None) -> int | str | None:
        """Return the digest of the sample alone, or else in its batch, to compare with another."""
        return self.content if self.content == recorded else self.content_in_batch()


def make_alone(
    plan: Plan,
    source: DataSource,
    transform: Transform | None,
    position: int,
    digester: Digester,
) -> Alone:
    """Read and transform the record of one position of `to_grain`, whatever was made before.

    Args:
        plan: which record stands there, and what it may draw.
        source: where it is read.
        transform: what is called for it.
        position: place in the stream.
        digester: what digests the sample.
    """
    index = int(plan.order.indices(position, position + 1)[0])
    record = source[index]
    before = _pickled(record)
    sample = owned(record)
    draws: list[Draw] = []
    taken = 0
    if transform is not None:
        generator = PositionGenerator(plan.seed or 0)
        generator.reset(position)
        sample = transform(sample, ListeningGenerator(generator.bit_generator, draws))
        taken = generator.taken()
    return Alone(
        position=position,
        index=index,
        draws=tuple(draws),
        taken=taken,
        draws_digest=_draws_digest(plan, position, taken),
        content=_content(plan, sample, digester),
        content_in_batch=lambda: _in_batch(plan, source, transform, position, digester),
        changed_in_place=_pickled(record) != before,
    )


def _pickled(record: Any) -> bytes | None:
    try:
        return pickle.dumps(record)
    except Exception:  # noqa: BLE001 - whatever it is, it cannot be compared
        return None


def _draws_digest(plan: Plan, position: int, taken: int) -> int | None:
    if not taken:
        return None
    key = stream_key(plan.seed or 0)
    digest = digest_draws(key, np.array([position]), np.array([taken], np.uint32))
    return int(digest[0])


def _content(plan: Plan, sample: Any, digester: Digester) -> int | str | None:
    try:
        if plan.batch_size is None:
            return digester.sample(sample)
        return digest_values(digester.batch(stack([sample])))[0]
    except UndigestibleError:
        return None


def _in_batch(
    plan: Plan,
    source: DataSource,
    transform: Transform | None,
    position: int,
    digester: Digester,
) -> int | str | None:
    size = plan.batch_size or 1
    make = ElementMaker(plan, source, transform, Witnessing(digester=digester))
    _, witness = make(position // size)
    if not witness.content:
        return None
    return digest_values(split_digests(witness.content, witness.rows))[position % size]
