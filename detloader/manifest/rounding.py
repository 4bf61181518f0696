"""Content digested after a declared rounding, for what differs in the last bit.

Decoders and kernels of two machines may give 0.30000001 and 0.3 for one pixel. Where a run
says that its floats were rounded, such samples have one digest. Two values that lie on
either side of a border between roundings still differ, however near they are.

Rounded floats are digested as float64, whatever type they came in: -0.0 as 0.0, and every
NaN as one. Integers, text and all else stay as they are.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from detloader.errors import UsageError
from detloader.manifest.content import batch_digests, sample_digest
from detloader.manifest.strong import STRONG, strong_batch_digests, strong_digest

__all__ = ["EXACT", "SHA256", "Digester", "Rounding", "digest_values", "is_strong", "split_digests"]

SHA256 = "sha256"

_SIGNIFICANT = {"float16": 11, "float32": 24}
_MOST_DECIMALS = 15
_DECIMALS = "decimals:"


@dataclass(frozen=True)
class Rounding:
    """Rounds the floats of a sample or a batch; what was delivered is left alone.

    Attributes:
        name: "float16", "float32" or "decimals:N".
    """

    name: str

    @classmethod
    def of(cls, content: str | None, decimals: SupportsIndex | None) -> Rounding | None:
        """Return the rounding that a user asks for; None for none.

        Args:
            content: the type to round to, "float16" or "float32"; values too large for it
                keep as many significant bits as it has.
            decimals: digits after the decimal point, 0 to 15.

        Raises:
            UsageError: there is no such rounding, or both are asked for.
        """
        if content is not None and decimals is not None:
            raise UsageError("content and decimals are two roundings: choose one")
        if decimals is not None:
            return cls(f"{_DECIMALS}{_as_decimals(decimals)}")
        if content is None:
            return None
        if content not in _SIGNIFICANT:
            known = " and ".join(_SIGNIFICANT)
            message = f"content cannot be rounded to {content!r}: there are {known}, and decimals=N"
            raise UsageError(message)
        return cls(content)

    @property
    def arguments(self) -> dict[str, Any]:
        """Return what `record` is told for it."""
        if self.name in _SIGNIFICANT:
            return {"content": self.name}
        return {"decimals": int(self.name.removeprefix(_DECIMALS))}

    def __call__(self, tree: Any) -> Any:
        """Return a sample or a batch with its floats rounded."""
        if isinstance(tree, np.ndarray | np.void) and tree.dtype.names is not None:
            return {name: self(tree[name]) for name in tree.dtype.names}
        if isinstance(tree, Mapping):
            return {key: self(child) for key, child in tree.items()}
        if isinstance(tree, list | tuple):
            return self._plain(tree) or [self(child) for child in tree]
        if tree is None or isinstance(tree, str | bytes | int):
            return tree
        return self._leaf(tree)

    def _plain(self, values: list[Any] | tuple[Any, ...]) -> list[float] | None:
        """Round a list of nothing but Python's floats; None for any other."""
        if not all(type(value) is float for value in values):
            return None
        rounded: list[float] = self._round(np.array(values, np.float64)).tolist()
        return rounded

    def _leaf(self, leaf: Any) -> Any:
        try:
            array = np.asarray(leaf)
        except (TypeError, ValueError, RuntimeError):
            return leaf  # who digests it says what is wrong with it
        if array.dtype.char in "gG":
            return leaf
        if array.dtype.kind == "c":
            return np.stack([self._round(array.real), self._round(array.imag)], axis=-1)
        is_float = array.dtype.kind == "f" or array.dtype.name == "bfloat16"
        return self._round(array) if is_float else leaf

    def _round(self, values: NDArray[Any]) -> NDArray[np.float64]:
        with np.errstate(over="ignore", invalid="ignore"):
            wide = values.astype(np.float64)
            rounded = _to_type(wide, self.name) if self.name in _SIGNIFICANT else self._cut(wide)
            # Adding zero makes 0.0 of -0.0; the index makes a scalar of what has no axes.
            plain: NDArray[np.float64] = np.where(np.isnan(rounded), np.nan, rounded + 0.0)[()]
        return plain

    def _cut(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        scale: float = 10.0 ** self.arguments["decimals"]
        scaled = np.rint(values * scale)
        # From here on float64 has no digit left to cut.
        return np.where(np.abs(scaled) < 2.0**52, scaled / scale, values)


@dataclass(frozen=True)
class Digester:
    """Digests samples and batches as a run says that it does; may be pickled.

    Attributes:
        rounding: what is done to floats before; None for nothing.
        strong: whether the digests are SHA-256, and not XXH3-64.
    """

    rounding: Rounding | None = None
    strong: bool = False

    @classmethod
    def named(cls, name: str | None) -> Digester:
        """Return what digests as a header's `digesting` says; None stands for exact and fast."""
        first, _, rest = (name or "").partition("+")
        strong = first == SHA256
        rounding = rest if strong else first
        return cls(Rounding(rounding) if rounding else None, strong)

    @property
    def arguments(self) -> dict[str, Any]:
        """Return what `record` is told for it."""
        rounding = {} if self.rounding is None else self.rounding.arguments
        return rounding | ({"digest": SHA256} if self.strong else {})

    def sample(self, sample: object) -> int | str:
        """Return the digest of one sample as a manifest has it: a number, or SHA-256 in hex.

        Raises:
            UndigestibleError: a leaf has no bytes of its own.
        """
        return digest_values(self.samples([sample]))[0]

    def samples(self, samples: Iterable[object]) -> NDArray[Any]:
        """Return the digests of samples: uint64, or 32 bytes each; shape (samples,).

        Raises:
            UndigestibleError: a leaf has no bytes of its own.
        """
        rounded = samples if self.rounding is None else map(self.rounding, samples)
        if self.strong:
            return np.frombuffer(b"".join(map(strong_digest, rounded)), STRONG)
        return np.array([*map(sample_digest, rounded)], np.uint64)

    def batch(self, batch: object) -> NDArray[Any]:
        """Return the digest of each row of a batch: uint64, or 32 bytes each; shape (rows,).

        Raises:
            UndigestibleError: a leaf has no bytes of its own, or not as many rows as another.
        """
        rounded = batch if self.rounding is None else self.rounding(batch)
        return strong_batch_digests(rounded) if self.strong else batch_digests(rounded)


EXACT = Digester()
"""Digests content as it is."""


def digest_values(digests: NDArray[Any]) -> list[int] | list[str]:
    """Return digests as a manifest has them: numbers, or SHA-256 in hex."""
    if digests.dtype != STRONG:
        numbers: list[int] = digests.tolist()
        return numbers
    return [digest.hex() for digest in digests.tolist()]


def split_digests(data: bytes, rows: int) -> NDArray[Any]:
    """Return the digests of so many rows, whose bytes stand one after the other."""
    strong = rows > 0 and len(data) == rows * STRONG.itemsize
    return np.frombuffer(data, STRONG if strong else np.uint64)


def is_strong(digest: str | None) -> bool:
    """Tell whether a user asks for SHA-256.

    Raises:
        UsageError: there is no such digest.
    """
    if digest not in {None, SHA256}:
        raise UsageError(f"there is no digest {digest!r}: leave it out, or say {SHA256}")
    return digest is not None


def _to_type(values: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    rounded = values.astype(name).astype(np.float64)
    too_large = np.isinf(rounded) & np.isfinite(values)
    if not too_large.any():
        return rounded
    fraction, exponent = np.frexp(values)
    scale = 2.0 ** _SIGNIFICANT[name]
    return np.where(too_large, np.ldexp(np.rint(fraction * scale) / scale, exponent), rounded)


def _as_decimals(decimals: SupportsIndex) -> int:
    try:
        number = operator.index(decimals)
    except TypeError:
        number = -1
    if isinstance(decimals, bool) or not 0 <= number <= _MOST_DECIMALS:
        message = f"decimals are a whole number from 0 to {_MOST_DECIMALS}, not {decimals!r}"
        raise UsageError(message)
    return number
