"""What a worker's second batch tells of its first: which generators were of one sample.

With one sample in a batch, nobody can tell a generator that is made with a worker's first sample,
and lasts, from one that each sample makes anew. The worker's next batch can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from detloader.adapters.torch.witness import Witness
from detloader.generators.looks import Looks

__all__ = ["count_settled", "settle"]


def count_settled(witnesses: Sequence[Witness]) -> int:
    """Return how many of the batches, from the first on, need none that comes after them."""
    count = len(witnesses)
    for place in reversed(range(count)):
        if _unsettled(witnesses[place]) is not None:
            following = _following(witnesses, place)
            if following is None or following >= count:
                count = place
    return count


def settle(witnesses: Sequence[Witness]) -> list[Witness]:
    """Return them without the draws of generators that were of one sample.

    Those of a worker that makes no second batch are left out, too: nobody can tell of them.
    """
    return [_settled(witnesses, place) for place in range(len(witnesses))]


def _settled(witnesses: Sequence[Witness], place: int) -> Witness:
    witness = witnesses[place]
    looks = _unsettled(witness)
    if looks is None:
        return witness
    following = _following(witnesses, place)
    one_off = None if following is None else witnesses[following].one_off
    if one_off is None:
        generators = len(looks.generators)
        one_off = range(generators - looks.unsettled, generators)
    return replace(witness, looks=looks.without(one_off))


def _unsettled(witness: Witness) -> Looks | None:
    """Return what was seen of generators, if some of them may have been of one sample."""
    return witness.looks if witness.looks is not None and witness.looks.unsettled else None


def _following(witnesses: Sequence[Witness], place: int) -> int | None:
    """Return where the next batch of the same worker is; that may be another pass's."""
    worker = witnesses[place].worker
    later = range(place + 1, len(witnesses))
    return next((each for each in later if witnesses[each].worker == worker), None)
