"""The four ways in which images come to a size: resized, or cut, or padded.

Each is a picklable callable `fit(images, size, rng)`. It takes images of shape (..., height,
width, channels) and gives them with the height and width asked for, maybe as a view. Its
fields are the keyword arguments that `resize_kwargs` may hold. Sizes and offsets are those
of the layers `Resizing`, `CenterCrop` and `RandomCrop` of Keras 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from detloader.errors import UsageError
from detloader.hdf5.arguments import check_flag
from detloader.hdf5.images.interpolation import INTERPOLATIONS, interpolate

__all__ = ["FITS", "Fit"]

Size = tuple[int, int]
Images = NDArray[Any]


class Fit(Protocol):
    """One way to a size.

    Attributes:
        draws: it takes random numbers, so that it needs a generator.
    """

    draws: ClassVar[bool]

    def __call__(self, images: Images, size: Size, rng: np.random.Generator | None, /) -> Images:
        """Bring images to a size."""
        ...  # pragma: no cover


@dataclass(frozen=True)
class Stretch:
    """Type `resize`: the whole image at another size; an integer image stays one."""

    draws: ClassVar[bool] = False

    interpolation: str = "bilinear"
    antialias: bool = False
    crop_to_aspect_ratio: bool = False
    pad_to_aspect_ratio: bool = False
    fill_mode: str = "constant"
    fill_value: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what has no meaning."""
        _one_of("interpolation", self.interpolation, INTERPOLATIONS)
        _one_of("fill_mode", self.fill_mode, ("constant",))
        _number("fill_value", self.fill_value)
        for name in ("antialias", "crop_to_aspect_ratio", "pad_to_aspect_ratio"):
            check_flag(name, getattr(self, name))
        if self.crop_to_aspect_ratio and self.pad_to_aspect_ratio:
            raise UsageError("give crop_to_aspect_ratio or pad_to_aspect_ratio, not both")

    def __call__(self, images: Images, size: Size, _rng: np.random.Generator | None) -> Images:
        """Resize; integers are rounded, half to even, and kept within what their type holds."""
        source, dtype = _inner_size(images), images.dtype
        if self.crop_to_aspect_ratio:
            window = _within_aspect(source, size)
            images = _cut(images, _centred(source, window), window)
        elif self.pad_to_aspect_ratio:
            border = _border_to_aspect(source, size)
            images = _pad(images, [(side, side) for side in border], "constant", self.fill_value)
        resized = interpolate(images, size, self.interpolation, antialias=self.antialias)
        return _as_whole_numbers(resized, dtype)


@dataclass(frozen=True)
class CenterCrop:
    """Type `center_crop`: the middle; a smaller image is cut to the aspect and enlarged."""

    draws: ClassVar[bool] = False

    def __call__(self, images: Images, size: Size, _rng: np.random.Generator | None) -> Images:
        """Cut out the middle."""
        source = _inner_size(images)
        if _holds(source, size):
            return _cut(images, _centred(source, size), size)
        window = _within_aspect(source, size)
        return interpolate(_cut(images, _centred(source, window), window), size, "bilinear")


@dataclass(frozen=True)
class RandomCrop:
    """Type `random_crop`: a window at a random place, one for all images given.

    Every place is equally likely. The offset from the top is drawn first, then that from
    the left, by `rng.integers`. A smaller image is enlarged as published, with no draw: the
    window stands where a centred one of the target's aspect would begin, and what the image
    has of it is resized, whatever its aspect.
    """

    draws: ClassVar[bool] = True

    def __call__(self, images: Images, size: Size, rng: np.random.Generator | None) -> Images:
        """Cut out a window."""
        source = _inner_size(images)
        if not _holds(source, size):
            start = _centred(source, _within_aspect(source, size))
            return interpolate(_cut(images, start, size), size, "bilinear")
        if rng is None:
            raise UsageError("random_crop draws its window: give it a generator")
        top = rng.integers(source[0] - size[0] + 1)
        left = rng.integers(source[1] - size[1] + 1)
        return _cut(images, (int(top), int(left)), size)


@dataclass(frozen=True)
class CropOrPad:
    """Type `crop_or_pad`: the middle of an axis that is longer, a border at both ends of a shorter.

    An odd border is one wider behind, where `center_crop` cuts one more.
    """

    draws: ClassVar[bool] = False

    mode: str = "constant"
    constant_values: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what has no meaning."""
        _one_of("mode", self.mode, ("constant", "edge", "reflect", "symmetric", "wrap"))
        _number("constant_values", self.constant_values)
        if self.mode != "constant" and self.constant_values:
            raise UsageError(f"constant_values has no meaning with mode={self.mode!r}")

    def __call__(self, images: Images, size: Size, _rng: np.random.Generator | None) -> Images:
        """Cut and pad, each axis as it needs."""
        source = _inner_size(images)
        kept = (min(source[0], size[0]), min(source[1], size[1]))
        missing = [whole - part for whole, part in zip(size, kept, strict=True)]
        border = [(short // 2, short - short // 2) for short in missing]
        middle = _cut(images, _centred(source, kept), kept)
        return _pad(middle, border, self.mode, self.constant_values)


FITS: dict[str, type[Stretch | CenterCrop | RandomCrop | CropOrPad]] = {
    "resize": Stretch,
    "center_crop": CenterCrop,
    "random_crop": RandomCrop,
    "crop_or_pad": CropOrPad,
}


def _one_of(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise UsageError(f"{name} is {value!r}; known are {', '.join(known)}")


def _number(name: str, value: object) -> None:
    if not isinstance(value, Real):
        raise UsageError(f"{name} is {value!r}; give a number")


def _inner_size(images: Images) -> Size:
    return images.shape[-3], images.shape[-2]


def _holds(source: Size, size: Size) -> bool:
    return source[0] >= size[0] and source[1] >= size[1]


def _centred(source: Size, size: Size) -> Size:
    """Return the top and left of a window in the middle."""
    return (source[0] - size[0]) // 2, (source[1] - size[1]) // 2


def _within_aspect(source: Size, size: Size) -> Size:
    """Return the largest size within the source that has the target's aspect, in whole pixels."""
    height, width = _across_aspect(source, size)
    return max(min(source[0], height), 1), max(min(source[1], width), 1)


def _border_to_aspect(source: Size, size: Size) -> Size:
    """Return the border, at top and bottom and at left and right, that gives the aspect."""
    height, width = _across_aspect(source, size)
    return max(height - source[0], 0) // 2, max(width - source[1], 0) // 2


def _across_aspect(source: Size, size: Size) -> Size:
    """Return the height that the source's width asks for in the target's aspect, and vice versa."""
    return int(source[1] * size[0] / size[1]), int(source[0] * size[1] / size[0])


def _cut(images: Images, start: Size, size: Size) -> Images:
    (top, left), (height, width) = start, size
    return images[..., top : top + height, left : left + width, :]


def _pad(images: Images, border: list[tuple[int, int]], mode: str, value: float) -> Images:
    widths = [(0, 0)] * (images.ndim - 3) + border + [(0, 0)]
    options: dict[str, Any] = {"constant_values": value} if mode == "constant" else {}
    # An integer type may not hold the value.
    return np.pad(np.asarray(images, np.float32), widths, mode=mode, **options)  # type: ignore[call-overload]


def _as_whole_numbers(images: NDArray[np.float32], dtype: np.dtype[Any]) -> NDArray[np.float32]:
    """Give float32 the values that they would have in an integer type, or a boolean one."""
    if dtype.kind == "b":
        return images.astype(bool).astype(np.float32)
    if dtype.kind not in "iu":
        return images
    limits = np.iinfo(dtype)
    return np.clip(np.rint(images), limits.min, limits.max)
