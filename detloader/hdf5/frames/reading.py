"""Reads blocks of frames: whole, or not at all.

Values that lie in the file as they do in memory are read straight from it, at a third of
what a call of HDF5 costs, and a file that was cut short is seen at once. All others are
read by HDF5. Threads read in turn, but while one waits for storage another has its turn.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from detloader.hdf5.files.opening import FAILURES, OpenDataset, Values, unreadable
from detloader.hdf5.files.turns import Turn
from detloader.hdf5.frames.blocks import BlockTable

__all__ = ["BlockReader"]


class BlockReader:
    """Reads the blocks of a table; threads may share it.

    Attributes:
        axes_lead: whether the axes that are iterated stand before all others.
    """

    def __init__(self, table: BlockTable) -> None:
        self._n_frames = table.rule.n_frames
        self._stride = table.rule.stride
        self._span = table.rule.span
        self._frame_axis = table.frame_axis
        self._extra_axes = table.extra_axes
        axes = sorted((table.frame_axis, *table.extra_axes))
        self.axes_lead = axes == list(range(len(axes)))
        self._frames_adjoin = self._n_frames == 1 or (len(axes) == 1 and self._stride == 1)

    def block_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a block of a dataset: without the axes that are iterated."""
        return tuple(
            self._n_frames if axis == self._frame_axis else size
            for axis, size in enumerate(shape)
            if axis not in self._extra_axes
        )

    @property
    def block_axis(self) -> int:
        """Axis of the frames in a block."""
        return self._frame_axis - sum(axis < self._frame_axis for axis in self._extra_axes)

    def reads_bytes(self, source: OpenDataset) -> bool:
        """Tell whether the blocks of a dataset are read without HDF5."""
        return source.values is not None and self.axes_lead

    def fill(
        self,
        source: OpenDataset,
        start: int,
        extra: Sequence[int],
        block: NDArray[Any],
        turn: Turn,
    ) -> None:
        """Read a block without HDF5.

        Args:
            source: what is read; `reads_bytes` is true of it.
            start: the first frame.
            extra: the index on each additional axis.
            block: where to, contiguous and of the dataset's type.
            turn: the calling thread's; given up while it waits for storage.

        Raises:
            FileError: the file gave no whole block.
        """
        assert source.values is not None
        try:
            self._read_bytes(source.values, start, extra, block, turn)
        except FAILURES as error:
            raise unreadable(source.path, error) from error

    def select(self, source: OpenDataset, start: int, extra: Sequence[int]) -> NDArray[Any]:
        """Read a block by HDF5; see `fill`."""
        chosen: list[slice | int] = [slice(None)] * len(source.shape)
        chosen[self._frame_axis] = slice(start, start + self._span, self._stride)
        for axis, index in zip(self._extra_axes, extra, strict=True):
            chosen[axis] = index
        try:
            block: NDArray[Any] = source.dataset[tuple(chosen)]
        except FAILURES as error:
            raise unreadable(source.path, error) from error
        return block

    def _read_bytes(
        self,
        values: Values,
        start: int,
        extra: Sequence[int],
        block: NDArray[Any],
        turn: Turn,
    ) -> None:
        place = values.offset + start * values.strides[self._frame_axis]
        for axis, index in zip(self._extra_axes, extra, strict=True):
            place += index * values.strides[axis]
        if self._frames_adjoin:
            _fill(values.descriptor, block, place, turn)
            return
        # Where the iterated axes lead, frames are the first axis of what is left.
        for number in range(self._n_frames):
            step = number * self._stride * values.strides[self._frame_axis]
            # By a slice: where frames are single values, an index would give no array.
            _fill(values.descriptor, block[number : number + 1], place + step, turn)


def _fill(descriptor: int, memory: Any, place: int, turn: Turn) -> None:
    try:
        # What the system holds in memory; nothing where it does not tell.
        done = os.preadv(descriptor, [memory], place, _NO_WAIT) if _NO_WAIT else 0
    except BlockingIOError:
        done = 0
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:  # a file system that does not know
            raise
        done = 0
    if done == memory.nbytes:
        return
    with turn.given_up():
        while done < memory.nbytes:
            # The system may give less than was asked for, but never nothing before the end.
            more = os.preadv(descriptor, [memoryview(memory).cast("B")[done:]], place + done)
            if not more:
                raise OSError("the file ends within its data")
            done += more


_NO_WAIT: int = getattr(os, "RWF_NOWAIT", 0)
"""Linux alone can be asked not to wait."""
