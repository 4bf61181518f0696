"""One block of frames, made into a sample: placed, clipped, checked, resized."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detloader.hdf5.images.placement import Placement
from detloader.hdf5.images.ranges import Range, assert_in_range, clip
from detloader.hdf5.images.resize import Resize

__all__ = ["SampleMaker"]


@dataclass(frozen=True, kw_only=True)
class SampleMaker:
    """Makes samples of blocks, in the published order.

    Attributes:
        placement: where frames and channels stand.
        resize: None for none.
        image_range: what values are clipped to, or checked against; None for neither.
    """

    placement: Placement
    resize: Resize | None
    image_range: Range | None
    clip_image_range: bool
    assert_image_range: bool

    @property
    def draws(self) -> bool:
        """Whether samples take random numbers."""
        return self.resize is not None and self.resize.draws

    @property
    def checks(self) -> bool:
        """Whether samples may be refused, by their name."""
        return self.image_range is not None and self.assert_image_range

    def shape(self, block_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the sample of such a block.

        Raises:
            UsageError: there is none.
        """
        placed = self.placement.shape(block_shape)
        return placed if self.resize is None else self.resize.output_shape(placed)

    def make(
        self,
        block: NDArray[Any],
        out: NDArray[np.float32],
        where: str,
        rng: np.random.Generator | None,
    ) -> None:
        """Write the sample of a block, which stays as it is.

        Args:
            block: as it was read.
            out: float32, of the sample's shape.
            where: names the sample in errors.
            rng: for a resize that draws.

        Raises:
            RangeError: values lie outside the range that was promised.
        """
        sample = self.placement(block)
        if self.image_range is not None:
            if self.clip_image_range:
                sample = clip(sample, self.image_range)
            if self.assert_image_range:
                assert_in_range(sample, self.image_range, where)
        if self.resize is None:
            out[...] = sample
        else:
            self.resize(sample, rng, out=out)
