"""Where the frames of a block stand in a sample, and the axis of channels."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detloader.errors import UsageError

__all__ = ["Placement"]

_LEAST_AXES = 3


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Makes a sample of a block of frames.

    A sample of fewer than three axes gets one more, for channels, at its end.

    Attributes:
        axes: number of a block's axes.
        block_axis: that of its frames.
        frame_axis: where the frames stand in the sample.
        insert: whether they have an axis of their own there, or are concatenated along one.

    Raises:
        UsageError: the sample has no such axis.
    """

    axes: int
    block_axis: int
    frame_axis: int
    insert: bool

    def __post_init__(self) -> None:
        """Refuse an axis that samples do not have."""
        axes = self.sample_axes
        if not -axes <= self.frame_axis < axes:
            message = f"frame_axis {self.frame_axis} is no axis of a sample, which has {axes}"
            raise UsageError(message)

    def __call__(self, block: NDArray[Any]) -> NDArray[Any]:
        """Return the sample: a view of the block where its frames keep an axis."""
        sample: NDArray[Any]
        if self.insert:
            sample = block.transpose(self._order)
        else:
            frames = np.moveaxis(block, self.block_axis, 0)
            sample = np.concatenate(list(frames), axis=self.frame_axis)
        return sample[..., np.newaxis] if self.sample_axes < _LEAST_AXES else sample

    @functools.cached_property
    def _order(self) -> tuple[int, ...]:
        order = list(range(self.axes))
        order.insert(self.frame_axis % self.axes, order.pop(self.block_axis))
        return tuple(order)

    def shape(self, block_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the sample of such a block."""
        sizes = list(block_shape)
        frames = sizes.pop(self.block_axis)
        if self.insert:
            sizes.insert(self.frame_axis % self.sample_axes, frames)
        else:
            sizes[self.frame_axis] *= frames
        return (*sizes, 1) if self.sample_axes < _LEAST_AXES else tuple(sizes)

    @property
    def sample_axes(self) -> int:
        """Axes of a sample, but for one that is added for channels."""
        return self.axes if self.insert else self.axes - 1
