"""The range of an image's values: kept to, checked, and mapped to another one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detloader.errors import RangeError, UsageError

__all__ = ["Range", "assert_in_range", "checked_ranges", "clip", "normalize"]

Pair = Sequence[float] | NDArray[Any]
Range = tuple[float, float]


def checked_ranges(
    image_range: Pair | None, normalization_range: Pair | None
) -> tuple[Range | None, Range | None]:
    """Check `image_range` and `normalization_range` of the Dataloader.

    Bounds that are integers stay integers.

    Raises:
        UsageError: one of them is no pair of numbers, the image range runs backwards, or
            there is nothing to normalise by: no image range, one without width, or an
            infinite bound.
    """
    source = None if image_range is None else _pair("image_range", image_range)
    target = None
    if source is not None and source[0] > source[1]:
        raise UsageError(f"image_range is {source}: give the lower bound first")
    if normalization_range is not None:
        target = _pair("normalization_range", normalization_range)
        _check_normalization(source, target)
    return source, target


def clip(sample: NDArray[Any], image_range: Range) -> NDArray[Any]:
    """Bring values beyond a bound to the bound; NaN stays NaN.

    Args:
        sample: real numbers; it is not changed.
        image_range: lower and upper bound, as `checked_ranges` gives them.

    Returns:
        A new array of the sample's dtype, but float64 for integers with bounds that are not.
    """
    low, high = _bounds(sample.dtype, image_range)
    if sample.dtype.kind in "iu" and isinstance(low, int) and isinstance(high, int):
        # NumPy refuses some of the bounds that the type cannot hold.
        limits = np.iinfo(sample.dtype)
        low, high = (min(max(bound, limits.min), limits.max) for bound in (low, high))
    return np.clip(sample, low, high)


def assert_in_range(sample: NDArray[Any], image_range: Range, where: str) -> None:
    """Check that no value lies beyond a bound.

    A NaN is not out of range, and leaves the other values checked. A bound counts as the
    number that the sample's dtype has for it, so that what was clipped passes.

    Args:
        sample: real numbers.
        image_range: lower and upper bound, as `checked_ranges` gives them.
        where: the sample's name in the message.

    Raises:
        RangeError: a value is out of range.
    """
    if not sample.size:
        return
    low, high = _bounds(sample.dtype, image_range)
    least, most = sample.min(), sample.max()
    if np.isnan(least):
        least, most = np.fmin.reduce(sample, axis=None), np.fmax.reduce(sample, axis=None)
    mend = "widen image_range, set clip_image_range=True or assert_image_range=False"
    if least < low:
        raise RangeError(f"{where}: {least} is below image_range lower bound {low}: {mend}")
    if most > high:
        raise RangeError(f"{where}: {most} is above image_range upper bound {high}: {mend}")


def normalize(
    batch: NDArray[np.float32], image_range: Range, normalization_range: Range
) -> NDArray[np.float32]:
    """Map one range to the other, in place; values out of range come out of range.

    The steps and their order are the published ones, each rounded to float32, so that the
    bits are the same, and the same for a whole batch and for its samples one by one.

    Args:
        batch: any shape; it is overwritten.
        image_range: where the values come from; it has a width.
        normalization_range: where they go, lower and upper bound in either order.

    Returns:
        The batch.
    """
    (low, high), (target_low, target_high) = image_range, normalization_range
    batch -= np.float32(low)
    batch /= np.float32(high - low)
    batch *= np.float32(target_high - target_low)
    batch += np.float32(target_low)
    return batch


def _bounds(dtype: np.dtype[Any], image_range: Range) -> tuple[Any, Any]:
    """Return the bounds as a floating dtype has them, or as they are."""
    if dtype.kind != "f":
        return image_range
    with np.errstate(over="ignore"):
        low, high = np.array(image_range).astype(dtype)
    return low, high


def _pair(name: str, values: Any) -> Range:
    numbers = list(values) if isinstance(values, Sequence) or np.ndim(values) == 1 else []
    real = [isinstance(n, Real) and not isinstance(n, bool) for n in numbers]
    if len(numbers) != 2 or not all(real) or any(map(math.isnan, numbers)):  # noqa: PLR2004
        raise UsageError(f"{name} is {values!r}; give two numbers, lower and upper bound")
    # Not NumPy's own numbers: those would decide on the dtype of what they meet.
    low, high = (int(n) if isinstance(n, Integral) else float(n) for n in numbers)
    return low, high


def _check_normalization(source: Range | None, target: Range) -> None:
    if source is None:
        raise UsageError("normalization_range maps from image_range: image_range must be set")
    bounds = (*source, *target)
    with np.errstate(over="ignore"):
        *_, width = numbers = np.array([*bounds, source[1] - source[0]]).astype(np.float32)
    if not np.isfinite(numbers).all():
        message = "they must be finite, as float32"
        raise UsageError(f"image_range {source} and normalization_range {target}: {message}")
    if not width:
        raise UsageError(f"image_range is {source}: it has no width to normalise by, as float32")
