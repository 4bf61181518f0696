"""The Dataloader's arguments, checked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from detloader.errors import UsageError
from detloader.findings import JsonValue
from detloader.hdf5.arguments import (
    Compatibility,
    Remainder,
    check_axes,
    check_choice,
    check_count,
    check_flag,
    check_integer,
)
from detloader.hdf5.images.ranges import Range, checked_ranges

__all__ = ["Settings"]

_WITHOUT_EFFECT = {
    "augmentation",
    "cache",
    "convert_to_tensor",
    "num_threads",
    "prefetch",
    "prefetch_buffer_size",
    "shard_index",
    "validate",
}
"""Arguments that decide neither which samples come nor what the whole run's are."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All arguments but the files; see `Dataloader`."""

    key: str
    batch_size: int | None
    n_frames: int
    shuffle: bool
    return_filename: bool
    seed: int | None
    limit_n_samples: int | None
    limit_n_frames: int | None
    drop_remainder: bool
    image_size: Any
    resize_type: str | None
    resize_axes: Any
    resize_kwargs: Mapping[str, Any] | None
    image_range: Range | None
    normalization_range: Range | None
    clip_image_range: bool
    assert_image_range: bool
    dataset_repetitions: int
    cache: bool
    additional_axes_iter: Sequence[int]
    sort_files: bool
    overlapping_blocks: bool
    augmentation: Callable[..., Any] | None
    initial_frame_axis: int
    insert_frame_axis: bool
    frame_index_stride: int
    frame_axis: int
    validate: bool
    prefetch: bool
    shard_index: int
    num_shards: int
    num_threads: int
    prefetch_buffer_size: int
    reshuffle_each_epoch: bool
    convert_to_tensor: bool
    shard_remainder: Remainder
    compatibility: Compatibility

    @classmethod
    def checked(cls, given: Mapping[str, Any]) -> Self:
        """Check arguments as the user gave them.

        Raises:
            UsageError: one of them makes no sense.
        """
        values = dict(given)
        if not isinstance(values["key"], str) or not values["key"]:
            raise UsageError(f"key must name a dataset of the files, not {values['key']!r}")
        values |= _counts(values)
        for name in ("initial_frame_axis", "frame_axis"):
            (values[name],) = check_axes(name, [values[name]])
        axes = values["additional_axes_iter"]
        values["additional_axes_iter"] = (
            () if axes is None else check_axes("additional_axes_iter", axes)
        )
        check_choice("shard_remainder", values["shard_remainder"], ("keep", "pad", "drop"))
        check_choice("compatibility", values["compatibility"], (None, "zea-0.1"))
        values["image_range"], values["normalization_range"] = checked_ranges(
            values["image_range"], values["normalization_range"]
        )
        values["shard_index"] = _shard_index(values["shard_index"], values["num_shards"])
        if values["augmentation"] is not None and not callable(values["augmentation"]):
            raise UsageError(f"augmentation must be callable, not {values['augmentation']!r}")
        for field in fields(cls):
            if field.type == "bool":
                values[field.name] = check_flag(field.name, values[field.name])
        return cls(**values)

    def described(self) -> dict[str, JsonValue]:
        """Return what decides the samples of all shards together, as values that JSON has."""
        return {
            field.name: _plain(getattr(self, field.name))
            for field in fields(self)
            if field.name not in _WITHOUT_EFFECT
        }


def _counts(given: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in ("n_frames", "frame_index_stride", "num_shards"):
        values[name] = check_count(name, given[name], 1)
    for name in ("num_threads", "prefetch_buffer_size"):
        values[name] = check_count(name, given[name], 0)
    for name in ("batch_size", "dataset_repetitions"):
        values[name] = check_count(name, given[name], 1, optional=True)
    for name in ("limit_n_samples", "limit_n_frames"):
        limit = check_integer(name, given[name], 1, optional=True)
        values[name] = None if limit is None else min(limit, sys.maxsize)
    values["dataset_repetitions"] = values["dataset_repetitions"] or 1
    for name in ("seed", "shard_index"):
        values[name] = check_integer(name, given[name], 0, optional=True)
    return values


def _shard_index(index: int | None, shards: int) -> int:
    if index is None and shards > 1:
        raise UsageError(f"num_shards is {shards}: say by shard_index which one this rank reads")
    if index is not None and index >= shards:
        raise UsageError(f"shard_index must be below num_shards, {shards}, not {index}")
    return index or 0


def _plain(value: Any) -> JsonValue:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case np.generic() | np.ndarray():
            return _plain(value.tolist())
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
    return repr(value)
