"""What zea 0.1.0 made of small images (grain 0.2.18, keras 3.15.1 on jax 0.10.2, CPU).

Its `Resizer` and its `translate`, called as its Dataloader calls them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Normalized", "Resized", "normalized", "resized"]

_FILE = Path(__file__).parents[1] / "hdf5" / "published.npz"


class Resized(NamedTuple):
    """One call of the published resizing, and its result as float32."""

    image: NDArray[Any]
    image_size: tuple[int, int]
    resize_type: str
    resize_axes: tuple[int, int] | None
    resize_kwargs: dict[str, Any]
    result: NDArray[np.float32]


class Normalized(NamedTuple):
    """One call of the published normalisation, and its result."""

    image: NDArray[np.float32]
    image_range: tuple[float, float]
    normalization_range: tuple[float, float]
    result: NDArray[np.float32]


def resized() -> list[Resized]:
    """Return the calls of the resizing."""
    return [
        Resized(image, tuple(size), kind, axes and tuple(axes), kwargs, result)
        for image, (size, kind, axes, kwargs), result in _calls()
        if kind is not None
    ]


def normalized() -> list[Normalized]:
    """Return the calls of the normalisation."""
    return [
        Normalized(image, tuple(source), tuple(target), result)
        for image, (source, kind, target, _), result in _calls()
        if kind is None
    ]


def _calls() -> list[tuple[NDArray[Any], tuple[Any, ...], NDArray[np.float32]]]:
    with np.load(_FILE) as stored:
        rest, calls = stored["results"], []
        for name, *arguments, shape in json.loads(str(stored["cases"])):
            result, rest = np.split(rest, [int(np.prod(shape))])
            calls.append((stored[f"input_{name}"], tuple(arguments), result.reshape(shape)))
    return calls
