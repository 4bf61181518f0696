"""The table of samples: which frames of which file each one holds.

A block of n frames, `stride` apart, spans n * stride frames of its file, the published
rule. The table has one row for each block and each index on the additional axes; files
come first, then blocks, then those axes in the order in which they were given, the last
one fastest. What a row holds is computed for many rows at once, and stored for none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from detloader.errors import UsageError

__all__ = ["BlockRule", "BlockTable", "Located"]


@dataclass(frozen=True, kw_only=True)
class BlockRule:
    """How a file's frames are cut into blocks.

    Attributes:
        n_frames: frames of a block.
        stride: distance between two frames of a block.
        overlapping: whether blocks start at each frame, and not where the last one ended.
        limit: frames of each file that are used, the first ones; None for all.
    """

    n_frames: int
    stride: int
    overlapping: bool
    limit: int | None

    @property
    def span(self) -> int:
        """Frames of the file that a block reaches over."""
        return self.n_frames * self.stride

    @property
    def step(self) -> int:
        """Distance between the first frames of two blocks."""
        return 1 if self.overlapping else self.span

    def blocks(self, frames: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of blocks in files of so many frames: int64, same shape."""
        used = frames if self.limit is None else np.minimum(frames, self.limit)
        return np.maximum((used - self.span) // self.step + 1, 0)


class Located(NamedTuple):
    """Where rows of the table lie.

    Attributes:
        file: int64, shape (rows,): number of the file.
        start: int64, shape (rows,): first frame.
        extra: int64, shape (rows, axes): index on each additional axis.
    """

    file: NDArray[np.int64]
    start: NDArray[np.int64]
    extra: NDArray[np.int64]


class BlockTable:
    """The samples of all files, by row number.

    Attributes:
        rule: how frames are cut into blocks.
        frame_axis: axis of the frames in the files, not negative.
        extra_axes: axes that are iterated besides, not negative.
        fits: bool, shape (files,): whether a file has frames enough for a block.
        file_rows: int64, shape (files,): rows of each file.
    """

    def __init__(
        self,
        shapes: Sequence[tuple[int, ...]],
        rule: BlockRule,
        *,
        frame_axis: int,
        extra_axes: Sequence[int] = (),
        limit: int | None = None,
    ) -> None:
        """Lay out the rows of files of these shapes, which have one number of axes.

        Raises:
            UsageError: an axis is not one of the files', or is given twice.
        """
        axes = len(shapes[0])
        self.rule = rule
        self.frame_axis = _axis("initial_frame_axis", frame_axis, axes)
        self.extra_axes = tuple(_axis("additional_axes_iter", axis, axes) for axis in extra_axes)
        if len({self.frame_axis, *self.extra_axes}) <= len(self.extra_axes):
            raise UsageError(
                f"additional_axes_iter {tuple(extra_axes)} names an axis twice, "
                f"or that of the frames ({frame_axis}): name each axis once"
            )
        sizes = np.array(shapes, np.int64).reshape(len(shapes), axes)
        self._extra = sizes[:, self.extra_axes]
        self._per_block = self._extra.prod(axis=1)
        blocks = rule.blocks(sizes[:, self.frame_axis])
        self.fits = blocks > 0
        self.file_rows = blocks * self._per_block
        self._ends = np.cumsum(self.file_rows)
        total = int(self._ends[-1])
        self._rows = total if limit is None else min(total, limit)
        if limit is not None:
            starts = self._ends - self.file_rows
            self.file_rows = np.clip(limit - starts, 0, self.file_rows)

    def __len__(self) -> int:
        """Return the number of samples."""
        return self._rows

    def locate(self, rows: NDArray[np.int64]) -> Located:
        """Tell where rows lie, 0 <= row < len, in any order."""
        file = np.searchsorted(self._ends, rows, side="right")
        within = rows - np.where(file > 0, self._ends[file - 1], 0)
        block, rest = np.divmod(within, self._per_block[file])
        extra = np.empty((len(rows), len(self.extra_axes)), np.int64)
        for column in reversed(range(len(self.extra_axes))):
            rest, extra[:, column] = np.divmod(rest, self._extra[file, column])
        return Located(file, block * self.rule.step, extra)


def _axis(name: str, axis: int, axes: int) -> int:
    if not -axes <= axis < axes:
        raise UsageError(f"{name} {axis} is no axis of the files' data, which have {axes}")
    return axis % axes
