"""The state of a random generator in 32 bytes, read without moving it.

Python's, NumPy's legacy and Torch's generators are Mersenne Twisters: 624 words of 32 bits,
the place of the next one among them, and perhaps a second normal number that was drawn with
the last. Of these, the place, the five words beside it in memory and the number kept (0.0
where there is none) are taken: all words are made anew at once and each from others, so that
five tell states apart, whichever process they are of. Of other generators a digest is taken.
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

__all__ = ["identity_of", "is_generator", "read_state"]

_WORDS = 5
_DIGEST_BYTES = 16

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
        return _digest(_pieces(generator.state))
    return _read_torch(generator)


def _read_python(generator: random.Random) -> bytes:
    _, words, normal = generator.getstate()
    state = array.array("I", (words[-1], *words[:_WORDS]))
    return state.tobytes() + struct.pack("d", normal or 0.0)


def _read_legacy(generator: np.random.RandomState) -> bytes:
    state: Any = generator.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        return _digest(_pieces(state))
    words, place = state["state"]["key"][-_WORDS:], state["state"]["pos"]
    normal = state["gauss"] if state["has_gauss"] else 0.0
    return bytes(words.tobytes() + struct.pack("=id", place, normal))


def _read_torch(generator: Any) -> bytes:
    state = generator.get_state().cpu().numpy()
    if generator.device.type != "cpu":
        return _digest([state.tobytes()])
    place, words = (state[part].view(np.uint64) for part in (_TORCH_PLACE, _TORCH_WORDS))
    normal = state[_TORCH_NORMAL].tobytes() if state[_TORCH_HAS_NORMAL] else bytes(8)
    return bytes(np.concatenate([place, words]).astype(np.uint32).tobytes() + normal)


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
    return xxhash.xxh3_128_digest(b"".join(pieces)) + bytes(_DIGEST_BYTES)
