"""Images of a sample at the size asked for: `image_size` and the `resize_…` arguments."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detloader.errors import UsageError
from detloader.extras import require
from detloader.hdf5.images.fitting import FITS, Fit

__all__ = ["Resize", "make_resize"]


def make_resize(
    image_size: Sequence[int] | NDArray[Any] | None,
    resize_type: str | None = None,
    resize_axes: Sequence[int] | None = None,
    resize_kwargs: Mapping[str, Any] | None = None,
    *,
    frame_axis: int | None = -1,
) -> Resize | None:
    """Make the resizing that these arguments of the Dataloader ask for.

    Args:
        image_size: the height and width to come to, in pixels; None for no resizing.
        resize_type: `resize` (the default), `center_crop`, `random_crop` or `crop_or_pad`.
        resize_axes: the axes of the sample that are its height and its width. By default the
            first two that are not the frame axis, in a sample of three or four axes.
        resize_kwargs: for `resize` interpolation, antialias, crop_to_aspect_ratio,
            pad_to_aspect_ratio, fill_mode and fill_value; for `crop_or_pad` mode and
            constant_values; for all of them data_format, which can only be `channels_last`.
        frame_axis: the axis of frames in the sample; None if it has none.

    Returns:
        The resizing, or None if no size is given, and nothing else that would need it.

    Raises:
        UsageError: an argument makes no sense, or is not known.
        MissingExtraError: OpenCV is not installed.
    """
    if image_size is None:
        given = {
            "resize_type": resize_type,
            "resize_axes": resize_axes,
            "resize_kwargs": None if resize_kwargs == {} else resize_kwargs,
        }
        for name, value in given.items():
            if value is not None:
                raise UsageError(f"{name} is {value!r}, but there is no image_size: give one")
        return None
    # Here, for it may be missing, and the first sample should not wait for it.
    require("cv2", extra="hdf5")
    return Resize(
        size=_pair("image_size", image_size, least=1),
        fit=_make_fit(
            "resize" if resize_type is None else resize_type,
            {} if resize_kwargs is None else resize_kwargs,
        ),
        axes=None if resize_axes is None else _pair("resize_axes", resize_axes),
        frame_axis=frame_axis,
    )


@dataclass(frozen=True, kw_only=True)
class Resize:
    """Brings samples to a size along two axes; the other axes go along, all in one way.

    Attributes:
        size: height and width.
        fit: how they come to it.
        axes: the axes of height and width in the sample, or None for the default.
        frame_axis: the axis of frames in the sample, or None.
    """

    size: tuple[int, int]
    fit: Fit
    axes: tuple[int, int] | None
    frame_axis: int | None

    @property
    def draws(self) -> bool:
        """Whether it takes random numbers."""
        return self.fit.draws

    def __call__(
        self,
        sample: NDArray[Any],
        rng: np.random.Generator | None = None,
        out: NDArray[np.float32] | None = None,
    ) -> NDArray[np.float32]:
        """Resize a sample.

        Args:
            sample: real numbers; it is not changed.
            rng: the sample's own generator, where `draws` is true.
            out: where to write the result, float32 of the shape that comes out.

        Returns:
            float32, of shape `output_shape(sample.shape)`: `out`, or a new array. Type
            `resize` gives whole numbers for integers, rounded half to even and within what
            their type holds.

        Raises:
            UsageError: as `output_shape`, or the generator is missing.
        """
        shape = self.output_shape(sample.shape)
        result = np.empty(shape, np.float32) if out is None else out
        order, leading = _image_order(sample.ndim, self.axes, self.frame_axis)
        images = sample.transpose(order)
        images = images.reshape(*images.shape[: leading + 2], -1)
        target = result.transpose(order)
        target[...] = self.fit(images, self.size, rng).reshape(target.shape)
        return result

    def output_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Tell the shape that samples of a shape come to.

        Raises:
            UsageError: such a sample has no axes of that number, or no pixels.
        """
        order, leading = _image_order(len(shape), self.axes, self.frame_axis)
        if 0 in shape:
            raise UsageError(f"a sample of shape {shape} has no pixels to resize")
        result = list(shape)
        result[order[leading]], result[order[leading + 1]] = self.size
        return tuple(result)


@functools.lru_cache(maxsize=256)
def _image_order(
    ndim: int, axes: tuple[int, int] | None, frame_axis: int | None
) -> tuple[tuple[int, ...], int]:
    """Find the order of axes that has height and width side by side.

    Returns:
        The order, and how many axes are before the height. What was behind both stays
        behind: those are the channels, which lie next to each other in memory.
    """
    height, width = _default_axes(ndim, frame_axis) if axes is None else _resolved(axes, ndim)
    others = [axis for axis in range(ndim) if axis not in (height, width)]
    before = [axis for axis in others if axis < max(height, width)]
    return (*before, height, width, *others[len(before) :]), len(before)


def _default_axes(ndim: int, frame_axis: int | None) -> tuple[int, int]:
    if ndim not in (3, 4):
        message = f"a sample of {ndim} axes has no obvious height and width: give resize_axes"
        raise UsageError(message)
    frames = None if frame_axis is None else frame_axis % ndim
    height, width = [axis for axis in range(ndim) if axis != frames][:2]
    return height, width


def _resolved(axes: tuple[int, int], ndim: int) -> tuple[int, int]:
    height, width = axes
    inside = -ndim <= height < ndim and -ndim <= width < ndim
    if not inside or height % ndim == width % ndim:
        message = f"resize_axes is {axes}; give two different ones of the sample's {ndim}"
        raise UsageError(message)
    return height % ndim, width % ndim


def _pair(name: str, values: Any, least: int | None = None) -> tuple[int, int]:
    numbers = list(values) if isinstance(values, Sequence) or np.ndim(values) == 1 else []
    whole = [isinstance(n, Integral) and not isinstance(n, bool) for n in numbers]
    if len(numbers) != 2 or not all(whole) or (least is not None and min(numbers) < least):  # noqa: PLR2004
        kind = "two integers" if least is None else f"two integers of {least} or more"
        raise UsageError(f"{name} is {values!r}; give {kind}, height and width")
    return int(numbers[0]), int(numbers[1])


def _make_fit(resize_type: object, resize_kwargs: Mapping[str, Any]) -> Fit:
    if not isinstance(resize_type, str) or resize_type not in FITS:
        raise UsageError(f"resize_type is {resize_type!r}; known are {', '.join(FITS)}")
    if not isinstance(resize_kwargs, Mapping):
        raise UsageError(f"resize_kwargs is {resize_kwargs!r}; give a dictionary")
    options = dict(resize_kwargs)
    if options.pop("data_format", None) not in (None, "channels_last"):
        raise UsageError("data_format can only be 'channels_last': resize_axes names other axes")
    known = [field.name for field in fields(FITS[resize_type])]
    unknown = [name for name in options if name not in known]
    if unknown:
        message = f"resize_kwargs has {', '.join(map(repr, unknown))}, unknown to {resize_type}"
        raise UsageError(f"{message}, which knows {', '.join([*known, 'data_format'])}")
    return FITS[resize_type](**options)
