"""From files and arguments to a pipeline; the only time that all files are looked at."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from detloader.errors import BatchError, UsageError
from detloader.hdf5.delivery.batches import Pipeline
from detloader.hdf5.files.discovery import SourceFile
from detloader.hdf5.files.handles import Handles
from detloader.hdf5.files.opening import h5py, naming, open_file
from detloader.hdf5.files.validation import faults, refuse
from detloader.hdf5.frames.blocks import BlockRule, BlockTable
from detloader.hdf5.frames.cache import BlockCache
from detloader.hdf5.frames.reading import BlockReader
from detloader.hdf5.frames.records import Records
from detloader.hdf5.images.placement import Placement
from detloader.hdf5.images.resize import make_resize
from detloader.hdf5.images.samples import SampleMaker
from detloader.hdf5.settings import Settings

__all__ = ["build_pipeline"]

Shape = tuple[int, ...]

_BATCHED_IMAGE = 4
"""Axes of a sample that the published resizing takes for a batch of images."""

_NAMED = 3
"""Files that a message names."""


def build_pipeline(
    files: Sequence[SourceFile], settings: Settings, seed: int, capacity: int
) -> Pipeline:
    """Look into all files, and lay out what is made of them.

    Args:
        files: at least one, in order.
        settings: the arguments.
        seed: the loader's.
        capacity: files that may be open at once.

    Raises:
        FileError: a file cannot be used.
        BatchError: files give samples that do not fit into one batch.
        UsageError: arguments do not fit the files.
    """
    if settings.validate:
        refuse({file.path: _faults(file.path) for file in files})
    handles = Handles(files, settings.key, capacity)
    sources = [(found.shape, found.dtype) for found in map(handles.open, range(len(files)))]
    shapes = [shape for shape, _ in sources]
    _refuse_other_axes(files, shapes)
    table = _table(files, shapes, settings)
    reader = BlockReader(table)
    maker = _sample_maker(reader, len(shapes[0]) - len(table.extra_axes), settings)
    block_shapes = [reader.block_shape(shape) for shape in shapes]
    sample_shapes = [maker.shape(shape) for shape in block_shapes]
    if (settings.batch_size or 1) > 1:
        _refuse_ragged(files, sample_shapes, table)
    ranges = settings.image_range, settings.normalization_range
    return Pipeline(
        seed=seed,
        shapes=shapes,
        dtypes=[dtype for _, dtype in sources],
        block_shapes=block_shapes,
        sample_shapes=sample_shapes,
        table=table,
        records=Records(files, shapes, table),
        handles=handles,
        reader=reader,
        maker=maker,
        cache=BlockCache() if settings.cache else None,
        normalization=None if ranges[0] is None or ranges[1] is None else (ranges[0], ranges[1]),
        batch_size=settings.batch_size,
        drop_remainder=settings.drop_remainder,
        repetitions=settings.dataset_repetitions,
    )


def _faults(path: str) -> tuple[str, ...]:
    file = open_file(path)
    with naming(path):
        return faults(h5py.File(file))


def _table(files: Sequence[SourceFile], shapes: Sequence[Shape], settings: Settings) -> BlockTable:
    rule = BlockRule(
        n_frames=settings.n_frames,
        stride=settings.frame_index_stride,
        overlapping=settings.overlapping_blocks,
        limit=settings.limit_n_frames,
    )
    table = BlockTable(
        shapes,
        rule,
        frame_axis=settings.initial_frame_axis,
        extra_axes=settings.additional_axes_iter,
        limit=settings.limit_n_samples,
    )
    short = [file.name for file, fits in zip(files, table.fits, strict=True) if not fits]
    if len(short) == len(files):
        raise UsageError(
            f"no samples: no file has the {rule.span} frames of a block; lower n_frames, "
            "frame_index_stride or raise limit_n_frames"
        )
    if short:
        warnings.warn(
            f"{len(short)} of {len(files)} files have fewer than the {rule.span} frames of a "
            f"block and are left out: {_listed(short)}",
            stacklevel=4,
        )
    if not len(table):
        raise UsageError("no samples: an axis of additional_axes_iter has no indices")
    return table


def _sample_maker(reader: BlockReader, axes: int, settings: Settings) -> SampleMaker:
    published = settings.compatibility is not None
    placement = Placement(
        axes=axes,
        # The published loader concatenates along the first axis, whichever has the frames.
        block_axis=0 if published and not settings.insert_frame_axis else reader.block_axis,
        frame_axis=settings.frame_axis,
        insert=settings.insert_frame_axis,
    )
    resize_axes = settings.resize_axes
    if published and resize_axes is None and placement.sample_axes == _BATCHED_IMAGE:
        resize_axes = (1, 2)
    resize = make_resize(
        settings.image_size,
        settings.resize_type,
        resize_axes,
        settings.resize_kwargs,
        frame_axis=settings.frame_axis if settings.insert_frame_axis else None,
    )
    return SampleMaker(
        placement=placement,
        resize=resize,
        image_range=settings.image_range,
        clip_image_range=settings.clip_image_range,
        assert_image_range=settings.assert_image_range,
    )


def _refuse_other_axes(files: Sequence[SourceFile], shapes: Sequence[Shape]) -> None:
    if not shapes[0]:
        raise UsageError(f"{files[0].name} holds a single number: give the key of its frames")
    for file, shape in zip(files, shapes, strict=True):
        if len(shape) != len(shapes[0]):
            raise UsageError(
                f"data have {len(shapes[0])} axes in {files[0].name}, {len(shape)} in "
                f"{file.name}: load them apart"
            )


def _refuse_ragged(
    files: Sequence[SourceFile], sample_shapes: Sequence[Shape], table: BlockTable
) -> None:
    named: dict[Shape, list[str]] = {}
    for file, shape, rows in zip(files, sample_shapes, table.file_rows.tolist(), strict=True):
        if rows:
            named.setdefault(shape, []).append(file.name)
    if len(named) <= 1:
        return
    groups = [f"{shape} in {_listed(names)}" for shape, names in list(named.items())[:_NAMED]]
    raise BatchError(
        f"samples do not fit into one batch: {'; '.join(groups)}; "
        "give image_size, or batch_size=None"
    )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
