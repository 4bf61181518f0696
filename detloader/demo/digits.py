"""The digits, grouped into subjects; where they come from says `DIGITS.md`."""

from __future__ import annotations

import io
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SUBJECTS", "load_subjects"]

SUBJECTS = 23


def load_subjects() -> list[NDArray[np.uint8]]:
    """Return the images of each subject: uint8, shape (78 or 79, 8, 8), values 0 to 16."""
    packed = resources.files("detloader.demo").joinpath("digits.npz").read_bytes()
    with np.load(io.BytesIO(packed), allow_pickle=False) as file:
        return np.array_split(file["images"], SUBJECTS)
