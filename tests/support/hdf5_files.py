"""Small HDF5 files to load, and what became of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from detloader.hdf5.loader import Dataloader

__all__ = [
    "CountingAugmentation",
    "add_noise",
    "first_values",
    "load",
    "numbered",
    "write",
    "write_file",
]


def numbered(count: int, start: int = 0, shape: tuple[int, ...] = (2, 2)) -> NDArray[np.float32]:
    """Frames that hold their number."""
    numbers = np.arange(start, start + count, dtype=np.float32)
    return np.broadcast_to(numbers.reshape(-1, *[1] * len(shape)), (count, *shape)).copy()


def write_file(path: Path, data: Any, **storage: Any) -> Path:
    """Write one file with a dataset `data/image`, a valid one of the zea format."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        file.create_dataset("data/image", data=data, **storage)
    return path


def write(folder: Path, *counts: int) -> Path:
    """Write a file of numbered frames for each count; those of file i begin at 100 i."""
    for number, count in enumerate(counts):
        write_file(folder / f"f_{number}.hdf5", numbered(count, 100 * number))
    return folder


def load(paths: Any, **arguments: Any) -> Dataloader:
    """Make a loader of arrays in batches of four, with seed 0."""
    given = {"batch_size": 4, "seed": 0, "convert_to_tensor": False, "num_threads": 0}
    return Dataloader(paths, **{**given, **arguments})


def first_values(batches: Iterable[Any]) -> list[int]:
    """The first value of each sample of batches: the number of its first frame."""
    return [int(row.flat[0]) for batch in batches for row in np.asarray(batch)]


class CountingAugmentation:
    """Adds the number of calls so far: its result depends on the order of calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        self.calls += 1
        return batch + np.float32(self.calls)


def add_noise(batch: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """Draw one number for the batch, and a second one for each sample."""
    shape = (len(batch), *[1] * (batch.ndim - 1))
    return batch + np.float32(rng.normal()) + rng.random(shape, np.float32)
