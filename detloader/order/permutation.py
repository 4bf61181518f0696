"""The order of a shuffled stream, as a pure function of seed, epoch and position.

A pass over n records is a permutation of range(n) that can be asked for any
position alone: a four-round Feistel cipher on a domain of 2**b values, b even
and at least 16, applied again and again until its value falls below n (cycle
walking). The round function is that of the Simon cipher; the round keys are
the words of C++ ``std::seed_seq{seed}``. The same construction, bit for bit,
orders ``grain.MapDataset.shuffle`` and TensorFlow's ``random_index_shuffle``.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from detloader.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["Compatibility", "RecordOrder", "is_published_right", "pass_seed", "permute"]

Compatibility: TypeAlias = Literal["published"] | None

_BLOCK = 1 << 14
"""Positions computed at once; half-words of a block stay in the processor's cache."""

_WORD = 0xFFFF_FFFF


def pass_seed(seed: int, number: int) -> int:
    """Return the seed of a pass over the source, passes counted from 0."""
    return (seed + number) & _WORD


def permute(
    positions: NDArray[np.int64], size: int, seed: int, *, compatibility: Compatibility = None
) -> NDArray[np.int64]:
    """Evaluate one pass's permutation of range(size) at some positions.

    Args:
        positions: int64, shape (k,), each 0 <= p < size, in any order.
        size: records in the source, at most 2**62.
        seed: seed of this pass, taken modulo 2**32.
        compatibility: "published" gives the order of Grain 0.2.18 also where size is
            2**k + 1 with k even and at least 16. Grain's is no permutation there: its
            domain is one bit short, so that the last record never comes and another
            comes twice. At every other size both are the same.

    Returns:
        int64, shape (k,): the source index at each position.

    Raises:
        UsageError: a position lies outside range(size).
    """
    if np.any((positions < 0) | (positions >= size)):
        raise UsageError(f"positions must lie in range({size}); ask for those of one pass only")
    if size <= 1:
        return np.zeros_like(positions)
    cipher = _Cipher(_half_width(size - 1, compatibility), _round_keys(seed & _WORD))
    if size <= _BLOCK:
        return _whole_pass(cipher, size)[positions]
    order = np.empty_like(positions)
    for start in range(0, len(positions), _BLOCK):
        block = slice(start, start + _BLOCK)
        order[block] = _first_return(cipher, cipher(positions[block]), size)
    return order


def is_published_right(size: int) -> bool:
    """Tell whether Grain's own shuffle of so many records is a permutation."""
    return _half_width(size - 1, "published") == _half_width(size - 1, None)


def _half_width(last: int, compatibility: Compatibility) -> int:
    """Bits of half a domain that holds 0 to `last`; the published one can be a bit short."""
    bits = last.bit_length()
    if compatibility == "published" and last.bit_count() == 1:
        bits -= 1
    return max((bits + 1) // 2, 8)


def _round_keys(seed: int) -> list[int]:
    """Generate the four words of ``std::seed_seq{seed}`` (C++ standard, [rand.util.seedseq])."""
    words = [0x8B8B8B8B] * 4
    for step, addend in enumerate((1, 1 + seed, 2, 3)):
        here, near, far = step, (step + 1) % 4, (step + 2) % 4
        mixed = words[here] ^ words[near] ^ words[step - 1]
        mixed = 1_664_525 * (mixed ^ (mixed >> 27)) & _WORD
        words[near] = (words[near] + mixed) & _WORD
        words[here] = (mixed + addend) & _WORD
        words[far] = (words[far] + words[here]) & _WORD
    for step in range(4):
        here, near, far = step, (step + 1) % 4, (step + 2) % 4
        mixed = (words[here] + words[near] + words[step - 1]) & _WORD
        mixed = 1_566_083_941 * (mixed ^ (mixed >> 27)) & _WORD
        words[near] ^= mixed
        words[here] = (mixed - step) & _WORD
        words[far] ^= words[here]
    return words


class _Cipher:
    """The Feistel network: a permutation of range(4**width), for whole arrays."""

    def __init__(self, width: int, keys: list[int]) -> None:
        self.width = width
        self.mask = (1 << width) - 1
        self.keys = [key & self.mask for key in keys]
        # Narrow words, for more of them fit in a vector register; NumPy shifts no vectors of bytes.
        self.half = np.promote_types(np.uint16, np.min_scalar_type(self.mask))

    def __call__(self, values: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        left = ((values >> self.width) & self.mask).astype(self.half)
        right = (values & self.mask).astype(self.half)
        for even, odd in (self.keys[:2], self.keys[2:]):
            left ^= self._mix(right) ^ even
            right ^= self._mix(left) ^ odd
        joined = left.astype(np.int64) << self.width
        joined |= right
        return joined

    def _mix(self, half: NDArray[Any]) -> NDArray[Any]:
        """Simon's round function, on words of `width` bits."""
        rotated = [(half << turn) | (half >> (self.width - turn)) for turn in (1, 8, 2)]
        return ((rotated[0] & rotated[1]) ^ rotated[2]) & self.mask


def _first_return(
    step: Callable[[NDArray[np.int64]], NDArray[np.int64]], images: NDArray[np.int64], size: int
) -> NDArray[np.int64]:
    """Apply `step` to each image, in place, until it lies below `size`."""
    outside = np.flatnonzero(images >= size)
    while outside.size:
        again = step(images[outside])
        images[outside] = again
        outside = outside[again >= size]
    return images


def _whole_pass(cipher: _Cipher, size: int) -> NDArray[np.int64]:
    """Walk all cycles of a domain that is far larger than the pass.

    The walk is as long as domain over size. A permutation's first returns to a
    range, taken over first returns to a larger range, are the same walk; narrowing
    the range eightfold each time keeps each single walk at about eight steps.
    """
    # Such a pass has the smallest domain, 2**16; small words spare most of the memory traffic.
    table = cipher(np.arange(4**cipher.width, dtype=np.uint16))
    while len(table) > size:
        smaller = max(size, len(table) // 8)
        table = _first_return(table.__getitem__, table[:smaller].copy(), smaller)
    return table


@dataclass(frozen=True)
class RecordOrder:
    """Which record stands at each position of a stream that runs over several epochs.

    Pass e of a shuffled stream uses the seed (seed + e) modulo 2**32, as published.
    Pass e of seed s is therefore pass e - 1 of seed s + 1: for independent repeats
    take seeds from `detloader.order.seeds.spawn_seeds`.

    Instances compare by value, can be pickled, and may be read by several threads.

    Attributes:
        size: records in the source.
        seed: seed of the first pass; None gives the source order in every pass.
        num_epochs: passes over the source; None repeats without end.
        compatibility: see `permute`.

    Raises:
        UsageError: size is negative, or num_epochs is below 1.
    """

    size: int
    _: KW_ONLY
    seed: int | None
    num_epochs: int | None
    compatibility: Compatibility = None
    # Blocks last used, newest first. Replaced as a whole, never changed: a reader in
    # another thread sees the old tuple or the new one, and both are right.
    _recent: tuple[tuple[tuple[int, int], NDArray[np.int64]], ...] = field(
        default=(), init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        """Refuse lengths that no stream has."""
        if self.size < 0:
            raise UsageError(f"size is {self.size}; a source has 0 records or more")
        if self.num_epochs is not None and self.num_epochs < 1:
            raise UsageError(f"num_epochs is {self.num_epochs}; give 1 or more, or None for no end")

    def __getstate__(self) -> dict[str, Any]:
        """Leave the blocks out: they are cheaper to compute than to send."""
        return {**vars(self), "_recent": ()}

    @property
    def total(self) -> int | None:
        """Positions in the stream; None where it never ends, 0 where the source is empty."""
        if self.size == 0:
            return 0
        return None if self.num_epochs is None else self.size * self.num_epochs

    def epoch_of(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Tell the epoch, counted from 0, of each position; int64, same shape."""
        return positions // self.size

    def indices(self, start: int, stop: int) -> NDArray[np.int64]:
        """Source indices at the positions start <= p < stop.

        Returns:
            int64, shape (stop - start,); the caller's own copy.

        Raises:
            UsageError: the range does not lie within the stream.
        """
        if not 0 <= start <= stop or (self.total is not None and stop > self.total):
            raise UsageError(
                f"positions {start} to {stop} do not lie in the stream; it has {self.total}"
            )
        if self.seed is None:
            return np.arange(start, stop) % self.size
        pieces = [np.empty(0, np.int64)]
        while start < stop:
            epoch, position = divmod(start, self.size)
            number, offset = divmod(position, _BLOCK)
            pieces.append(self._block(self.seed, epoch, number)[offset : offset + stop - start])
            start += len(pieces[-1])
        return np.concatenate(pieces)

    def _block(self, seed: int, epoch: int, number: int) -> NDArray[np.int64]:
        recent = self._recent
        for key, block in recent:
            if key == (epoch, number):
                return block
        positions = np.arange(number * _BLOCK, min((number + 1) * _BLOCK, self.size))
        block = permute(
            positions, self.size, pass_seed(seed, epoch), compatibility=self.compatibility
        )
        object.__setattr__(self, "_recent", (((epoch, number), block), *recent[:1]))
        return block
