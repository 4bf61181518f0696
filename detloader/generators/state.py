"""The state of a random generator in 32 bytes, read without moving it.

Python's, NumPy's legacy and Torch's generators are Mersenne Twisters: 624 words of 32 bits,
the place of the next one among them, and perhaps a second normal number that was drawn with
the last. Of these, the place, the five words beside it in memory and the number kept (0.0
where there is none) are taken: all words are made anew at once and each from others, so that
five tell states apart, whichever process they are of. Of other generators a digest is taken;
of NumPy's default ones (PCG64), also what tells whether one state comes of another by drawing.
"""

from __future__ import annotations

import array
import random
import struct
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

__all__ = ["INCREMENT", "PLACE", "follow", "identity_of", "is_generator", "read_state"]

_WORDS = 5
_DIGEST_BYTES = 16

PLACE, INCREMENT = 2, 3
"""Words of a state that hold, of a PCG64, the lower halves of its state and of its increment."""

_STEP = np.uint64(0x4385DF649FCCF645)
"""Lower half of what a PCG64 multiplies its state by at each draw."""

_MOST_DRAWS = 32
"""Bits of the number of draws that are looked for."""

# Torch gives each word 64 bits, after a seed, two flags and the place.
_TORCH_PLACE = slice(16, 24)
_TORCH_WORDS = slice(24, 24 + 8 * _WORDS)
_TORCH_NORMAL = slice(24 + 625 * 8, 24 + 626 * 8)
_TORCH_HAS_NORMAL = 24 + 627 * 8


def is_generator(value: object) -> bool:
    """Tell whether this is a generator of Python, NumPy or Torch that has a state."""
    if isinstance(value, random.Random):
        return not isinstance(value, random.SystemRandom)
    if isinstance(value, np.random.Generator | np.random.BitGenerator | np.random.RandomState):
        return True
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Generator)


def identity_of(value: object) -> int:
    """Return what tells two objects apart: NumPy's generators of the same bits are one."""
    return id(value.bit_generator if isinstance(value, np.random.Generator) else value)


def read_state(generator: Any) -> bytes:
    """Return the state of such a generator, 32 bytes, by public ways.

    Equal bytes mean equal states of generators of one kind.
    """
    if isinstance(generator, random.Random):
        return _read_python(generator)
    if isinstance(generator, np.random.RandomState):
        return _read_legacy(generator)
    if isinstance(generator, np.random.Generator):
        generator = generator.bit_generator
    if isinstance(generator, np.random.BitGenerator):
        return _read_bits(generator.state)
    return _read_torch(generator)


def follow(before: NDArray[np.uint64], after: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Tell whether states come of those before them by drawing, and not by being set.

    A PCG64 goes from s to s * step + increment, modulo 2**128. So s * (step - 1) + increment,
    which is odd, is multiplied by the step at each draw; the lower halves are enough to see how
    often.

    Args:
        before: uint64, shape (..., 4): states that `read_state` gave.
        after: those after, of the same shape.

    Returns:
        shape (...); true of generators of which nobody can tell.
    """
    increment = before[..., INCREMENT]
    factor = _root(after) * _inverse(_root(before))
    inverse = _inverse(np.full_like(factor, _STEP))
    for bit in range(_MOST_DRAWS):
        # The step's power of 2**bit is 1 in its lower bits, and no longer in that one.
        is_odd = (factor >> np.uint64(bit + 2)) & np.uint64(1) != 0
        factor = np.where(is_odd, factor * inverse, factor)
        inverse = inverse * inverse
    drawn = (factor == 1) & (after[..., INCREMENT] == increment)
    follows: NDArray[np.bool_] = drawn | (increment == 0)
    return follows


def _root(states: NDArray[np.uint64]) -> NDArray[np.uint64]:
    root: NDArray[np.uint64] = states[..., PLACE] * (_STEP - np.uint64(1)) + states[..., INCREMENT]
    return root


def _inverse(odd: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the numbers that odd ones are multiplied by to give 1, modulo 2**64."""
    inverse = odd
    for _ in range(5):  # each time twice as many bits are right, of 3 at first
        inverse = inverse * (np.uint64(2) - odd * inverse)
    return inverse


def _read_python(generator: random.Random) -> bytes:
    _, words, normal = generator.getstate()
    state = array.array("I", (words[-1], *words[:_WORDS]))
    return state.tobytes() + struct.pack("d", normal or 0.0)


def _read_legacy(generator: np.random.RandomState) -> bytes:
    state: Any = generator.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        return _read_bits(state)
    words, place = state["state"]["key"][-_WORDS:], state["state"]["pos"]
    normal = state["gauss"] if state["has_gauss"] else 0.0
    return bytes(words.tobytes() + struct.pack("=id", place, normal))


def _read_torch(generator: Any) -> bytes:
    state = generator.get_state().cpu().numpy()
    if generator.device.type != "cpu":
        return _digest([state.tobytes()]) + bytes(_DIGEST_BYTES)
    place, words = (state[part].view(np.uint64) for part in (_TORCH_PLACE, _TORCH_WORDS))
    normal = state[_TORCH_NORMAL].tobytes() if state[_TORCH_HAS_NORMAL] else bytes(8)
    return bytes(np.concatenate([place, words]).astype(np.uint32).tobytes() + normal)


def _read_bits(state: Mapping[str, Any]) -> bytes:
    pieces = _pieces(state)
    if state["bit_generator"] != "PCG64":
        return _digest(pieces) + bytes(_DIGEST_BYTES)
    _, place, increment, *_ = pieces
    return _digest(pieces) + place[:8] + increment[:8]


def _pieces(state: Mapping[str, Any]) -> list[bytes]:
    pieces: list[bytes] = []
    for value in state.values():
        if isinstance(value, dict):
            pieces += _pieces(value)
        elif isinstance(value, int):
            pieces.append(value.to_bytes(16, "little"))
        else:
            pieces.append(value.encode() if isinstance(value, str) else np.asarray(value).tobytes())
    return pieces


def _digest(pieces: list[bytes]) -> bytes:
    return xxhash.xxh3_128_digest(b"".join(pieces))
