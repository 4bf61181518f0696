"""One record of a `to_grain` stream, made again alone, with every draw that its transform takes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from detloader.manifest.content import UndigestibleError
from detloader.manifest.rounding import Digester
from detloader.plan import Plan
from detloader.randomness import PositionGenerator, digest_draws, stream_key
from detloader.samples import owned, stack
from detloader.source import DataSource, Transform

__all__ = ["Alone", "Draw", "make_alone"]


@dataclass(frozen=True, slots=True)
class Draw:
    """One call of a generator.

    Attributes:
        method: its name, such as "normal".
        arguments: what it was called with, as Python writes it.
        value: what it returned; None of those that change their argument in place.
    """

    method: str
    arguments: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Alone:
    """A record as it was made again.

    Attributes:
        position: its place in the stream.
        index: where it was read in the source.
        draws: what its transform drew, call by call.
        taken: 32-bit words drawn.
        draws_digest: the digest that a run has in `draws`; None where nothing was drawn.
        content: the digest that a run has in `content`; None where the sample has no bytes of
            its own.
        changed_in_place: whether the source's own record is another one now.
    """

    position: int
    index: int
    draws: tuple[Draw, ...]
    taken: int
    draws_digest: int | None
    content: int | None
    changed_in_place: bool


def make_alone(
    plan: Plan,
    source: DataSource,
    transform: Transform | None,
    position: int,
    digester: Digester,
) -> Alone:
    """Read and transform the record of one position, whatever was made before.

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
        sample = transform(sample, _Listening(generator.bit_generator, draws))
        taken = generator.taken()
    return Alone(
        position=position,
        index=index,
        draws=tuple(draws),
        taken=taken,
        draws_digest=_draws_digest(plan, position, taken),
        content=_content(plan, sample, digester),
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


def _content(plan: Plan, sample: Any, digester: Digester) -> int | None:
    try:
        if plan.batch_size is None:
            return digester.sample(sample)
        return int(digester.batch(stack([sample]))[0])
    except UndigestibleError:
        return None


class _Listening(np.random.Generator):
    """A generator that writes down what is drawn of it; its numbers are those of any other."""

    def __init__(self, bit_generator: np.random.BitGenerator, draws: list[Draw]) -> None:
        super().__init__(bit_generator)
        self._draws = draws
        self._busy = False

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name.startswith("_") or name in {"bit_generator", "spawn"} or not callable(found):
            return found
        return self._heard(name, found)

    def _heard(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def drawn(*arguments: Any, **options: Any) -> Any:
            if self._busy:
                return method(*arguments, **options)  # one method may call another
            # Written down before the call: a shuffle changes its argument.
            given = [repr(value) for value in arguments]
            given += [f"{key}={value!r}" for key, value in options.items()]
            self._busy = True
            try:
                value = method(*arguments, **options)
            finally:
                self._busy = False
            self._draws.append(Draw(name, ", ".join(given), owned(value)))
            return value

        return drawn
