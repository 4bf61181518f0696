"""Generators of record IDs: which record is asked for next.

Both take the names, parameters and draws of helia-edge's generators, so that a
seeded experiment keeps its schedule. By default they draw from the global
`random` module, as published; with a `seed` or a generator of their own, nothing
else that draws from the global one can change their order.
"""

from __future__ import annotations

import math
import random
import struct
import sys
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from itertools import accumulate
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

from detloader.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableSequence, Sequence

__all__ = ["random_id_generator", "uniform_id_generator"]

T = TypeVar("T")


def random_id_generator(
    ids: Sequence[T],
    weights: Sequence[float] | None = None,
    *,
    rng: random.Random | None = None,
    seed: int | None = None,
) -> Iterator[T]:
    """Draw IDs with replacement, without end.

    Weights are relative and no quotas; an ID of weight zero never comes. Weighted
    and unweighted draws consume the generator in different ways, so that equal
    weights do not give the order that no weights give.

    Args:
        ids: what to draw from.
        weights: one for each ID, finite and not negative, with a finite sum above
            zero. None draws uniformly.
        rng: what to draw with; None is the global `random`.
        seed: stands for `rng=random.Random(seed)`, a new one for each call: a dataset that
            calls its generator for each pass repeats its draws, where one `rng` goes on.

    Returns:
        An endless iterator; with no IDs its first `next` raises IndexError.

    Raises:
        UsageError: IDs or weights are not as said, `rng` draws nothing, or `seed` is no
            integer or given beside it. Raised by this call, not by the first `next` as in
            the published generator.
    """
    _check_ids(ids)
    rng = _chosen(rng, seed)
    if weights is None:
        return _uniform_draws(ids, _method(rng, "choice"))
    return _weighted_draws(ids, _cumulative(weights, len(ids)), _method(rng, "choices"))


def uniform_id_generator(
    ids: MutableSequence[T],
    repeat: bool = True,  # noqa: FBT001, FBT002 - the published parameter
    shuffle: bool = True,  # noqa: FBT001, FBT002 - the published parameter
    *,
    rng: random.Random | None = None,
    seed: int | None = None,
) -> Iterator[T]:
    """Return an iterator over every ID once a cycle.

    Args:
        ids: a list. With `shuffle` it is shuffled in place before each cycle, so
            that each cycle starts from the order of the one before; a tuple raises
            TypeError. With `seed` it is a copy that is shuffled.
        repeat: go on with another cycle after the last ID. An empty list ends all
            the same, where the published generator would loop for ever.
        shuffle: take a new order for each cycle.
        rng: what to shuffle with; None is the global `random`.
        seed: stands for `rng=random.Random(seed)`, a new one for each call: a dataset that
            calls its generator for each pass repeats its order, where one `rng` goes on.

    Raises:
        UsageError: the IDs are no list, `rng` shuffles nothing, or `seed` is no integer or
            given beside it.
    """
    _check_ids(ids)
    # Or the same seed would give another order to whoever passes the list a second time.
    own = ids if seed is None else list(ids)
    reorder = _method(_chosen(rng, seed), "shuffle")
    return _cycles(own, reorder, repeat=repeat, shuffle=shuffle)


def _check_ids(ids: object) -> None:
    # A mapping can be indexed, too, but not by place.
    has_places = hasattr(ids, "__len__") and hasattr(ids, "__getitem__")
    if not has_places or isinstance(ids, Mapping):
        raise UsageError(f"ids is a {type(ids).__name__}; give a list")


def _chosen(rng: random.Random | None, seed: object) -> random.Random | None:
    if seed is None:
        return rng
    if rng is not None:
        raise UsageError("give rng or seed, not both: seed stands for a generator of its own")
    if isinstance(seed, bool) or not isinstance(seed, Integral):
        raise UsageError(f"seed is {seed!r}; give an integer")
    return random.Random(int(seed))  # noqa: S311 - an order, not a secret


def _method(rng: object, name: str) -> Callable[..., Any]:
    """Return what is called for each draw; of the global generator, where there is no other."""
    method: Callable[..., Any] | None = getattr(random if rng is None else rng, name, None)
    if method is None:
        raise UsageError(f"rng is {rng!r}, which has no {name}; give a random.Random, or a seed")
    return method


def _cycles(
    ids: MutableSequence[T], reorder: Callable[..., Any], *, repeat: bool, shuffle: bool
) -> Iterator[T]:
    while True:
        if shuffle:
            reorder(ids)
        yield from ids
        if not repeat or len(ids) == 0:
            return


def _cumulative(given: Sequence[float], count: int) -> list[float]:
    """Sum the weights up to exactly 1, after checking them."""
    weights = _as_numbers(given)
    if len(weights) != count:
        raise UsageError(f"weights has {len(weights)} values for {count} ids; give one for each")
    for place, weight in enumerate(weights):
        if not math.isfinite(weight) or weight < 0:
            raise UsageError(f"weights[{place}] is {weight}; give finite values of 0 or more")
    if max(weights, default=1) < sys.float_info.min:
        # TensorFlow runs generators in threads that take numbers so small for zero. Their bits,
        # as an integer, are as many times the smallest number.
        weights = [float(int.from_bytes(struct.pack("<d", abs(w)), "little")) for w in weights]
    sums = list(accumulate(map(float, weights), initial=0.0))[1:]
    total = sums[-1] if sums else 0.0
    if not 0 < total < math.inf:
        raise UsageError(f"weights sum to {total}; the sum must be finite and above 0")
    return [value / total for value in sums]


def _as_numbers(weights: object) -> list[float]:
    """Return weights as numbers in their order, which a mapping or a set has not."""
    if isinstance(weights, Mapping | AbstractSet | str | bytes) or not isinstance(
        weights, Iterable
    ):
        raise UsageError(f"weights is a {type(weights).__name__}; give a sequence, one for each ID")
    try:
        return [float(weight) for weight in weights]
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"weights must be numbers: {error}") from error


def _uniform_draws(ids: Sequence[T], choose: Callable[..., T]) -> Iterator[T]:
    while True:
        yield choose(ids)


def _weighted_draws(
    ids: Sequence[T], cumulative: list[float], choose: Callable[..., list[T]]
) -> Iterator[T]:
    # One `random()` a draw, bisected to the right: an ID that adds nothing to the
    # sum before it is never hit.
    while True:
        yield choose(ids, cum_weights=cumulative)[0]
