"""Images of another size, by the interpolations that Keras's `Resizing` layer names.

Pixels are areas: the centre of pixel i lies at i + 0.5, and a pixel of the result has its
centre at the same share of the image. Beyond the border there is nothing; the weights of
what is left sum to one.

`bilinear` without antialias is OpenCV's, told to leave Intel's primitives out: so it gives
the same bits on every x86-64 processor, whatever vector instructions it has. OpenCV's
bicubic kernel is another one (a = -0.75 where Keras has -0.5), and it has no Lanczos kernel
of radius 3 or 5: those are sparse matrices of weights, one an axis.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detloader.extras import require

__all__ = ["INTERPOLATIONS", "interpolate"]

Kernel = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def interpolate(
    images: NDArray[Any], size: tuple[int, int], method: str, *, antialias: bool = False
) -> NDArray[np.float32]:
    """Bring images to a size.

    Args:
        images: shape (..., height, width, channels), of real numbers; at least one pixel.
        size: the height and width to come to, in pixels.
        method: one of `INTERPOLATIONS`.
        antialias: widen the kernel where an axis shrinks, so that each pixel of the source
            has its share. It changes nothing for `nearest`.

    Returns:
        float32, shape (..., *size, channels).
    """
    if images.ndim > 3:  # noqa: PLR2004 - height, width and channels
        resized = np.empty((*images.shape[:-3], *size, images.shape[-1]), np.float32)
        for image, target in zip(images, resized, strict=True):
            target[...] = interpolate(image, size, method, antialias=antialias)
        return resized
    if method == "nearest":
        return _pick(images, size)
    image = np.asarray(images, np.float32)
    if method == "bilinear" and not antialias:
        return _bilinear(image, size)
    return _weigh(image, size, method, antialias=antialias)


def _pick(image: NDArray[Any], size: tuple[int, int]) -> NDArray[np.float32]:
    rows, columns = (_nearest(*lengths) for lengths in zip(image.shape[:2], size, strict=True))
    return image.take(rows, axis=0).take(columns, axis=1).astype(np.float32, copy=False)


@functools.lru_cache(maxsize=256)
def _nearest(source: int, target: int) -> NDArray[np.intp]:
    """Return the pixel in which each pixel of the target has its centre."""
    centres = 2 * np.arange(target, dtype=np.intp) + 1
    return centres * source // (2 * target)


_MOST_CHANNELS = 128
"""What OpenCV 5 takes at once; OpenCV 4 took four times as many."""


def _bilinear(image: NDArray[np.float32], size: tuple[int, int]) -> NDArray[np.float32]:
    channels = image.shape[2]
    if channels <= _MOST_CHANNELS:
        # A single channel comes back without its axis.
        return _opencv(image, size).reshape(*size, channels)
    starts = range(0, channels, _MOST_CHANNELS)
    parts = [_opencv(image[:, :, start : start + _MOST_CHANNELS], size) for start in starts]
    return np.dstack(parts)


def _opencv(image: NDArray[np.float32], size: tuple[int, int]) -> NDArray[np.float32]:
    cv2 = require("cv2", extra="hdf5")
    # Intel's primitives have other code, and other last bits, for each kind of processor.
    # The switch is the calling thread's own.
    intel = cv2.ipp.useIPP()
    cv2.ipp.setUseIPP(False)
    try:
        return cv2.resize(image, size[::-1])
    finally:
        cv2.ipp.setUseIPP(intel)


def _weigh(
    image: NDArray[np.float32], size: tuple[int, int], method: str, *, antialias: bool
) -> NDArray[np.float32]:
    height, width, channels = image.shape
    rows = _weights(height, size[0], method, antialias=antialias)
    columns = _weights(width, size[1], method, antialias=antialias)
    upright = (rows @ image.reshape(height, -1)).reshape(size[0], width, channels)
    turned = columns @ upright.swapaxes(0, 1).reshape(width, -1)
    return turned.reshape(size[1], size[0], channels).swapaxes(0, 1)


@functools.lru_cache(maxsize=256)
def _weights(source: int, target: int, method: str, *, antialias: bool) -> Any:
    """Return the share of each pixel of the source in each of the target, a sparse matrix."""
    from scipy.sparse import csr_array

    kernel, radius = _KERNELS[method]
    scale = source / target
    stretch = max(scale, 1.0) if antialias else 1.0
    centres = (np.arange(target) + 0.5) * scale - 0.5
    reach = math.ceil(radius * stretch)
    pixels = np.floor(centres).astype(np.intp)[:, None] + np.arange(-reach, reach + 2)
    weights = kernel(np.abs(pixels - centres[:, None]) / stretch)
    weights[(pixels < 0) | (pixels >= source)] = 0
    weights /= weights.sum(axis=1, keepdims=True)
    # What has no weight is left out: a NaN there would spoil the pixel.
    row, place = np.nonzero(weights)
    shares = weights[row, place].astype(np.float32)
    return csr_array((shares, (row, pixels[row, place])), shape=(target, source))


def _triangle(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(0, 1 - distance)


def _cubic(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of cubic convolution with a = -0.5 (Keys 1981)."""
    near = (1.5 * distance - 2.5) * distance**2 + 1
    far = ((-0.5 * distance + 2.5) * distance - 4) * distance + 2
    return np.where(distance < 1, near, np.where(distance < 2, far, 0))  # noqa: PLR2004


def _lanczos(radius: int, distance: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(distance < radius, np.sinc(distance) * np.sinc(distance / radius), 0)


_KERNELS: dict[str, tuple[Kernel, int]] = {
    "bilinear": (_triangle, 1),
    "bicubic": (_cubic, 2),
    "lanczos3": (functools.partial(_lanczos, 3), 3),
    "lanczos5": (functools.partial(_lanczos, 5), 5),
}

INTERPOLATIONS = ("nearest", *_KERNELS)
