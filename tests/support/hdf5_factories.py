"""Dataloaders that a command makes of the files in the current folder."""

from __future__ import annotations

from typing import Any

from tests.support.hdf5_files import CountingAugmentation, add_noise, load

__all__ = ["counting", "cropped", "stream"]


def cropped(**arguments: Any) -> Any:
    """Draw for each sample and for each batch."""
    crop = {"image_size": (2, 2), "resize_type": "random_crop", "augmentation": add_noise}
    return load("files", **{**crop, **arguments})


def stream() -> Any:
    """Give an epoch of the same, to iterate."""
    return cropped().to_iter_dataset()


def counting() -> Any:
    """Augment by the number of calls so far."""
    return load("files", augmentation=CountingAugmentation())
