"""What each row of the table is called, and what the user is told of it.

A record's ID is the file's label, its frames, and its index on each further axis that is
iterated: `dir/a.hdf5#0:3` holds frames 0 to 2, `dir/a.hdf5#0:6:2` every other one of six,
`dir/a.hdf5#0:3,2=5` those at index 5 of axis 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from detloader.hdf5.files.discovery import SourceFile
from detloader.hdf5.frames.blocks import BlockTable

__all__ = ["Records"]


class Records:
    """Names the rows of a table."""

    def __init__(
        self, files: Sequence[SourceFile], shapes: Sequence[tuple[int, ...]], table: BlockTable
    ) -> None:
        self._files = files
        self._names = pa.array([file.label for file in files], pa.string())
        self._shapes = shapes
        self._table = table

    def ids(self, rows: NDArray[np.int64]) -> pa.Array[Any]:
        """Return the record ID of each row."""
        rule, found = self._table.rule, self._table.locate(rows)
        step = f":{rule.stride}" if rule.stride > 1 else ""
        parts: list[Any] = [
            self._names.take(found.file),
            "#",
            _text(found.start),
            ":",
            _text(found.start + rule.span),
            step,
        ]
        for column, axis in enumerate(self._table.extra_axes):
            parts += [f",{axis}=", _text(found.extra[:, column])]
        joined: pa.Array[Any] = pc.binary_join_element_wise(*parts, "")
        return joined

    def metadata(self, rows: NDArray[np.int64]) -> list[dict[str, Any]]:
        """Return what `return_filename` gives for each row, as published.

        Keys are `fullpath`, `filename` (without its suffix) and `indices`, the selection
        that was read: a slice or an integer for each axis of the file's data.
        """
        rule, axes = self._table.rule, self._table.extra_axes
        found = self._table.locate(rows)
        told = []
        for file, start, extra in zip(
            found.file.tolist(), found.start.tolist(), found.extra.tolist(), strict=True
        ):
            indices: list[slice | int] = [slice(size) for size in self._shapes[file]]
            indices[self._table.frame_axis] = slice(start, start + rule.span, rule.stride)
            for axis, index in zip(axes, extra, strict=True):
                indices[axis] = index
            path = self._files[file].path
            told.append({"fullpath": path, "filename": Path(path).stem, "indices": tuple(indices)})
        return told

    def batched_metadata(self, rows: NDArray[np.int64]) -> dict[str, Any]:
        """Return the same for a batch: each leaf an array with one entry a row."""
        told = self.metadata(rows)
        return {
            "fullpath": np.array([each["fullpath"] for each in told]),
            "filename": np.array([each["filename"] for each in told]),
            "indices": tuple(map(np.array, zip(*(each["indices"] for each in told), strict=True))),
        }


def _text(numbers: NDArray[np.int64]) -> pa.Array[Any]:
    return pc.cast(pa.array(numbers), pa.string())
