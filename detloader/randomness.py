"""Random draws that depend on seed and position alone, and the witness of what was taken.

Each position of a stream has a random stream of its own: Philox, keyed by the seed, with
the position in the highest word of its counter. Its numbers are those of Grain's
`random_map`. One generator serves all positions: it is reset, not rebuilt, and its
counter tells afterwards how much was drawn.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["PhiloxPlace", "PositionGenerator", "digest_draws", "philox_place", "stream_key"]

_WORDS_IN_BUFFER = 4

_UINT32 = 0xFFFF_FFFF


class PositionGenerator:
    """A generator that can be set to the beginning of any position's random stream.

    Attributes:
        generator: the NumPy generator. It is one object for all positions: a transform
            that keeps it would see it move.
        bit_generator: the Philox bit generator under it.
        reset: callable; `reset(position)` goes to the beginning of a position's stream.
        taken: callable; `taken()` counts the 32-bit words drawn since the reset, modulo
            2**32, where a 64-bit word of which half is still unused counts as one.
    """

    __slots__ = ("bit_generator", "generator", "reset", "taken")

    def __init__(self, seed: int) -> None:
        """Key the streams by a seed, 0 <= seed < 2**32."""
        # numpy's stubs want SeedSequence itself; at run time any ISeedSequence will do.
        self.bit_generator = np.random.Philox(_PlainSeed(seed))  # type: ignore[arg-type]
        self.generator = np.random.Generator(self.bit_generator)
        access = _memory_access if _memory_layout_is_known() else _state_access
        self.reset, self.taken = access(self.bit_generator)


class PhiloxPlace(NamedTuple):
    """Where a Philox generator stands.

    Attributes:
        key: the first word of its key.
        position: the highest word of its counter, by which Grain tells records apart.
        words: 32-bit words drawn since that counter began, modulo 2**32.
    """

    key: int
    position: int
    words: int


def philox_place(bit_generator: np.random.BitGenerator) -> PhiloxPlace:
    """Read where somebody else's Philox generator stands, without moving it."""
    state: Any = bit_generator.state
    counter = state["state"]["counter"]
    words = 4 * int(counter[0]) + state["buffer_pos"] - _WORDS_IN_BUFFER
    return PhiloxPlace(
        key=int(state["state"]["key"][0]),
        position=int(counter[3]),
        words=int(2 * words - state["has_uint32"]) & _UINT32,
    )


def stream_key(seed: int) -> NDArray[np.uint64]:
    """Return the Philox key of a seed: uint64, shape (2,)."""
    return np.random.SeedSequence(seed).generate_state(2, np.uint64).astype(np.uint64)


def digest_draws(
    key: NDArray[np.uint64], positions: NDArray[np.int64], taken: NDArray[np.uint32]
) -> NDArray[np.uint64]:
    """Digest what was drawn at each position: which stream, and how far into it.

    From zero, each of the two words of the key, the position and the words taken is in turn
    combined by exclusive or, and the result mixed as SplitMix64 does.

    Args:
        key: uint64, shape (2,), as `stream_key` gives it.
        positions: int64, shape (n,).
        taken: uint32, shape (n,), 32-bit words drawn at each position.

    Returns:
        uint64, shape (n,). Under one key, equal counts at different positions never collide.
    """
    state = np.zeros(len(positions), np.uint64)
    for word in (key[0], key[1], positions.astype(np.uint64), taken.astype(np.uint64)):
        state = _mix(state ^ word)
    return state


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Apply the finaliser of SplitMix64 (Steele, Lea and Flood 2014), a permutation."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


class _PlainSeed(np.random.bit_generator.ISeedSequence):
    """A seed that gives the usual key but cannot spawn.

    A spawned child would depend on how many were spawned before it, in this process,
    and no replay could give it again. NumPy refuses to spawn from this one.
    """

    def __init__(self, seed: int) -> None:
        self._sequence = np.random.SeedSequence(seed)

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NDArray[Any]:
        return self._sequence.generate_state(n_words, dtype)


class _PhiloxState(ctypes.Structure):
    """NumPy's own record of a Philox generator, `philox_state` in philox.h."""

    _fields_ = (
        ("counter", ctypes.c_void_p),
        ("key", ctypes.c_void_p),
        ("buffer_pos", ctypes.c_int),
        ("buffer", ctypes.c_uint64 * _WORDS_IN_BUFFER),
        ("has_uint32", ctypes.c_int),
        ("uinteger", ctypes.c_uint32),
    )


Access = tuple[Callable[[int], None], Callable[[], int]]


def _memory_access(bit_generator: np.random.Philox) -> Access:
    """Reset and count in the generator's own memory: 0.2 us, where its state setter takes 6."""
    address: int = bit_generator.ctypes.state_address
    state = _PhiloxState.from_address(address)
    counter = _view(ctypes.c_uint64 * 4, state.counter, "Q")
    key = _view(ctypes.c_uint64 * 2, state.key, "Q")
    first, second = key
    buffer_pos = _view(ctypes.c_int * 1, address + _PhiloxState.buffer_pos.offset, "i")
    has_uint32 = _view(ctypes.c_int * 1, address + _PhiloxState.has_uint32.offset, "i")

    def reset(position: int) -> None:
        # All of it: a transform may have set a state of its own, or jumped ahead.
        key[0], key[1] = first, second
        counter[0] = counter[1] = counter[2] = 0
        counter[3] = position
        buffer_pos[0] = _WORDS_IN_BUFFER
        has_uint32[0] = 0

    def taken() -> int:
        blocks = counter[0]
        return (2 * (4 * blocks + buffer_pos[0] - _WORDS_IN_BUFFER) - has_uint32[0]) & _UINT32

    return reset, taken


def _view(kind: type[ctypes.Array[Any]], address: int, code: str) -> memoryview[int]:
    return memoryview(kind.from_address(address)).cast("B").cast(code)  # type: ignore[call-overload, no-any-return]


def _state_access(bit_generator: np.random.Philox) -> Access:
    """Reset and count through NumPy's public state."""
    start: Any = bit_generator.state

    def reset(position: int) -> None:
        start["state"]["counter"] = np.array([0, 0, 0, position], np.uint64)
        start.update(buffer_pos=_WORDS_IN_BUFFER, has_uint32=0, uinteger=0)
        bit_generator.state = start

    def taken() -> int:
        now: Any = bit_generator.state
        blocks = int(now["state"]["counter"][0])
        words = 4 * blocks + now["buffer_pos"] - _WORDS_IN_BUFFER
        return int(2 * words - now["has_uint32"]) & _UINT32

    return reset, taken


@functools.cache
def _memory_layout_is_known() -> bool:
    """Ask whether this NumPy keeps Philox as `_PhiloxState` says, by trying both ways."""
    first, second = np.random.Philox(7), np.random.Philox(7)
    np.random.Generator(first).integers(0, 9, 3, dtype=np.uint32)
    state: Any = first.state
    address: int = first.ctypes.state_address
    seen = _PhiloxState.from_address(address)
    if (seen.buffer_pos, seen.has_uint32) != (state["buffer_pos"], state["has_uint32"]):
        return False
    if list(seen.buffer) != state["buffer"].tolist():
        return False
    ways = (_memory_access(first), _state_access(second))
    for reset, _ in ways:
        reset(5)
    drawn = [np.random.Generator(bits).normal(size=3).tolist() for bits in (first, second)]
    return drawn[0] == drawn[1] and ways[0][1]() == ways[1][1]()
