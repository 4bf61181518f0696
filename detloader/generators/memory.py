"""The state of Mersenne Twisters where it lies in memory: 0.1 us, where public ways take 2 to 30.

Between two samples the processor's caches hold the samples, not this module: what is done at
each look is as little as can be, a copy of a few bytes.

Each way is tried beside the public one, on a generator of its own, before it is used. Where
they do not agree, as in another interpreter or a later version, the public one is taken.
"""

from __future__ import annotations

import ctypes
import functools
import random
import struct
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detloader.generators.state import read_state

__all__ = ["Pieces", "pieces_of", "state_of"]

_TWISTER = 624 * 4
_WINDOW = 6 * 4
_DRAWS_PAST_A_BLOCK = 700
_LOWEST_BYTE = np.uint64(0xFF)

Move = Callable[[], object]


class Pieces(NamedTuple):
    """Where the 32 bytes of a generator's state are found.

    Attributes:
        views: the bytes that lie in memory.
        flagged: whether the last eight of them tell whether the eight before them count.
        keeper: a generator of the `random` module, whose `gauss_next` is the number kept.
        read: callable; gives all 32, where they are not taken from memory.
        owners: what the views look into, and what must therefore stay alive.
    """

    views: tuple[memoryview[int], ...] = ()
    flagged: bool = False
    keeper: Any = None
    read: Callable[[], bytes] | None = None
    owners: tuple[Any, ...] = ()

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return sum(map(len, self.views))


def state_of(
    seen: NDArray[np.uint64], kept: NDArray[np.float64] | None, *, flagged: bool
) -> NDArray[np.uint64]:
    """Make states of what was seen in memory.

    Args:
        seen: uint64, shape (..., `Pieces.size` / 8).
        kept: float64, shape (...): the keeper's numbers, 0.0 for none; None without a keeper.
        flagged: as `Pieces.flagged`.

    Returns:
        uint64, shape (..., 4): what `read_state` would have given at each look.
    """
    if flagged:
        number, flag = seen[..., 3:4], seen[..., 4:5]
        counts = (flag & _LOWEST_BYTE) != 0
        return np.concatenate([seen[..., :3], number * counts], axis=-1)
    if kept is None:
        return seen
    return np.concatenate([seen, kept[..., None].view(np.uint64)], axis=-1)


def pieces_of(generator: Any) -> Pieces:
    """Return where the state of a generator is found, by the fastest way that is sure."""
    for kind in _KINDS:
        if kind.suits(generator) and _is_known(kind):
            return kind.pieces(generator)
    return Pieces(read=functools.partial(read_state, generator))


class _Kind(NamedTuple):
    """A kind of Mersenne Twister.

    Attributes:
        suits: tells whether a generator is of this kind.
        pieces: finds its state in memory.
        make: makes one to try it on.
        moves: ways to move that one.
    """

    suits: Callable[[Any], bool]
    pieces: Callable[[Any], Pieces]
    make: Callable[[], Any]
    moves: Callable[[Any], list[Move]]


@functools.cache
def _is_known(kind: _Kind) -> bool:
    if sys.implementation.name != "cpython" or sys.byteorder != "little":
        return False
    probe = kind.make()
    try:
        pieces = kind.pieces(probe)
        for move in kind.moves(probe):
            move()
            if _look(pieces) != read_state(probe):
                return False
    except (AttributeError, LookupError, TypeError, ValueError):
        return False
    return True


def _look(pieces: Pieces) -> bytes:
    seen = np.frombuffer(b"".join(pieces.views), np.uint64)
    kept = None if pieces.keeper is None else np.array(pieces.keeper.gauss_next or 0.0)
    return state_of(seen, kept, flagged=pieces.flagged).tobytes()


def _python_pieces(generator: Any) -> Pieces:
    window = _view(id(generator) + object.__basicsize__, _WINDOW)
    return Pieces((window,), keeper=generator)


def _numpy_pieces(generator: Any) -> Pieces:
    bits = generator._bit_generator  # noqa: SLF001 - has no public name
    window = _view(bits.ctypes.state_address + _TWISTER + 4 - _WINDOW, _WINDOW)
    normal = _view(id(generator) + _offset_of_normal(), 8)
    return Pieces((window, normal), owners=(generator, bits))


@functools.cache
def _offset_of_normal() -> int:
    """Find where NumPy keeps a second normal number: 0.0 once it is used."""
    probe = np.random.RandomState(7)
    probe.standard_normal()
    kept: Any = probe.get_state(legacy=False)
    return ctypes.string_at(id(probe), type(probe).__basicsize__).index(
        struct.pack("d", kept["gauss"])
    )


def _torch_pieces(generator: Any) -> Pieces:
    at = generator._cdata + _offset_of_torch_words()  # noqa: SLF001 - has no public name
    window, normal = _view(at - 4, _WINDOW), _view(at + _TWISTER + 12, 16)
    return Pieces((window, normal), flagged=True, owners=(generator,))


@functools.cache
def _offset_of_torch_words() -> int:
    """Find the first words in the head of a generator; what follows them is then known."""
    probe = _seeded_torch()
    words = probe.get_state().numpy()[24:88].view(np.uint64).astype(np.uint32)
    return ctypes.string_at(probe._cdata, 256).index(words.tobytes())  # noqa: SLF001 - as above


def _view(address: int, size: int) -> memoryview[int]:
    return memoryview((ctypes.c_char * size).from_address(address)).cast("B")


def _seeded_torch() -> Any:
    return sys.modules["torch"].Generator().manual_seed(7)


def _is_torch_on_cpu(generator: Any) -> bool:
    return getattr(getattr(generator, "device", None), "type", None) == "cpu"


def _is_legacy_twister(generator: Any) -> bool:
    bits = getattr(generator, "_bit_generator", None)
    return isinstance(generator, np.random.RandomState) and isinstance(bits, np.random.MT19937)


def _moves_of_python(probe: Any) -> list[Move]:
    return _with_a_block(probe.random, lambda: probe.gauss(0, 1))


def _moves_of_numpy(probe: Any) -> list[Move]:
    return _with_a_block(probe.random_sample, probe.standard_normal)


def _moves_of_torch(probe: Any) -> list[Move]:
    torch = sys.modules["torch"]
    draw = functools.partial(torch.rand, 1, generator=probe)
    return _with_a_block(draw, functools.partial(torch.randn, 1, generator=probe))


def _with_a_block(draw: Move, draw_normal: Move) -> list[Move]:
    """Begin as seeded, keep a normal number and use it, and go on to the next block of words."""

    def draw_a_block() -> None:
        for _ in range(_DRAWS_PAST_A_BLOCK):
            draw()

    return [lambda: None, draw, draw_normal, draw_normal, draw_a_block]


_KINDS = (
    _Kind(
        lambda generator: isinstance(generator, random.Random),
        _python_pieces,
        functools.partial(random.Random, 7),
        _moves_of_python,
    ),
    _Kind(
        _is_legacy_twister,
        _numpy_pieces,
        functools.partial(np.random.RandomState, 7),
        _moves_of_numpy,
    ),
    _Kind(_is_torch_on_cpu, _torch_pieces, _seeded_torch, _moves_of_torch),
)
