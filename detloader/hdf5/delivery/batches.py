"""Makes one element of a loader's stream, whatever was made before it, in any thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detloader.errors import FileError
from detloader.grain.elements import Witnessing
from detloader.hdf5.files.handles import Handles
from detloader.hdf5.files.opening import OpenDataset
from detloader.hdf5.frames.blocks import BlockTable
from detloader.hdf5.frames.cache import BlockCache
from detloader.hdf5.frames.digests import block_digest
from detloader.hdf5.frames.reading import BlockReader
from detloader.hdf5.frames.records import Records
from detloader.hdf5.images.ranges import Range, normalize
from detloader.hdf5.images.samples import SampleMaker
from detloader.hdf5.order.draws import Purpose, draw_seed
from detloader.hdf5.order.epochs import Pass
from detloader.hdf5.order.sample_order import SampleOrder, Span
from detloader.randomness import PositionGenerator

__all__ = ["Batch", "BatchMaker", "Pipeline"]


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """What makes a loader's samples, whatever their order.

    Attributes:
        seed: the loader's; draws follow it.
        shapes: the shape of each file's dataset.
        dtypes: its type, as it is stored.
        block_shapes: that of the blocks that are read of it.
        sample_shapes: that of the samples that come of them.
        normalization: the range of the images and the one that it is mapped to, or None.
        batch_size: None for samples without a batch.
        repetitions: passes over the table that make one epoch.
    """

    seed: int
    shapes: Sequence[tuple[int, ...]]
    dtypes: Sequence[np.dtype[Any]]
    block_shapes: Sequence[tuple[int, ...]]
    sample_shapes: Sequence[tuple[int, ...]]
    table: BlockTable
    records: Records
    handles: Handles
    reader: BlockReader
    maker: SampleMaker
    cache: BlockCache | None
    normalization: tuple[Range, Range] | None
    batch_size: int | None
    drop_remainder: bool
    repetitions: int

    def open(self, file: int) -> OpenDataset:
        """Return the dataset of a file, of the shape that the table was made for.

        Raises:
            FileError: it cannot be read, or was replaced.
        """
        source = self.handles.open(file)
        if source.shape != self.shapes[file]:
            message = f"{source.path} was replaced by another file: make a new Dataloader"
            raise FileError(message, source.path)
        return source


class Batch(NamedTuple):
    """An element before it is augmented; it travels between processes as arrays.

    Attributes:
        number: of the element in its stream.
        span: which samples it holds.
        images: float32, shape (rows, *sample), or that of one sample without batches.
        taken: uint32, shape (rows,): 32-bit words that each sample's resize drew.
        raw: uint64, shape (rows,): digests of the blocks as read; empty unless asked for.
    """

    number: int
    span: Span
    images: NDArray[np.float32]
    taken: NDArray[np.uint32]
    raw: NDArray[np.uint64]


class BatchMaker:
    """Makes the elements of one epoch by their number; it may be pickled.

    Attributes:
        pipeline: what makes the samples.
        order: which samples they are.
        pass_: number and seed of the epoch.
        witnessing: what is told of the making of the elements.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        order: SampleOrder,
        pass_: Pass,
        witnessing: Witnessing = Witnessing.OFF,
    ) -> None:
        self.pipeline = pipeline
        self.order = order
        self.pass_ = pass_
        self.witnessing = witnessing

    def __len__(self) -> int:
        """Return the number of elements."""
        rows, size = self._rows, self.pipeline.batch_size or 1
        return rows // size + (rows % size > 0 and not self.pipeline.drop_remainder)

    def span(self, number: int) -> Span:
        """Return what an element holds; numbers beyond the last one go on with further passes."""
        size = self.pipeline.batch_size or 1
        epoch, number = divmod(number, len(self))
        start = number * size
        stop = min(start + size, self._rows)
        return self.order.span(epoch * self._rows + start, epoch * self._rows + stop)

    def __call__(self, number: int) -> Batch:
        """Make an element.

        Raises:
            FileError: a file gave no whole block, or was changed.
            RangeError: values lie outside the range that was promised.
        """
        pipeline, span = self.pipeline, self.span(number)
        images, taken, raw = _Filling(self, span).fill()
        if pipeline.normalization is not None:
            normalize(images, *pipeline.normalization)
        if not self.batched:
            images = images[0]
        return Batch(number, span, images, taken, raw)

    @property
    def batched(self) -> bool:
        """Whether elements are batches, and not samples."""
        return self.pipeline.batch_size is not None

    def draw_seed(self, purpose: Purpose) -> int:
        """Return what keys the random numbers of the epoch."""
        return draw_seed(self.pipeline.seed, self.pass_.epoch, purpose)

    @property
    def _rows(self) -> int:
        return self.order.rows_of_pass * self.pipeline.repetitions


class _Filling:
    """Fills one element, sample by sample."""

    def __init__(self, maker: BatchMaker, span: Span) -> None:
        self._pipeline = maker.pipeline
        self._span = span
        self._digesting = maker.witnessing.digester is not None
        self._generator: PositionGenerator | None = None
        if self._pipeline.maker.draws:
            self._generator = PositionGenerator(maker.draw_seed(Purpose.CROP))
        self._sources: dict[int, tuple[OpenDataset, NDArray[Any] | None]] = {}
        self._blocks: dict[tuple[tuple[int, ...], np.dtype[Any]], NDArray[Any]] = {}

    def fill(self) -> tuple[NDArray[np.float32], NDArray[np.uint32], NDArray[np.uint64]]:
        """Return the images, the words that each one drew, and the digests of what was read."""
        pipeline, rows = self._pipeline, self._span.rows
        found = pipeline.table.locate(rows)
        places = zip(rows.tolist(), *(column.tolist() for column in found), strict=True)
        shape = pipeline.sample_shapes[int(found.file[0])]
        images = np.empty((len(rows), *shape), np.float32)
        taken = np.zeros(len(rows), np.uint32)
        raw = np.zeros(len(rows) if self._digesting else 0, np.uint64)
        checks = pipeline.maker.checks
        names: list[Any] = pipeline.records.ids(rows).to_pylist() if checks else [""] * len(rows)
        with pipeline.handles.turn:
            for at, (row, *place) in enumerate(places):
                block = self._block_of(row, *place)
                if self._digesting:
                    raw[at] = block_digest(block)
                taken[at] = self._make(at, block, images[at], names[at])
            self._let_go()
        return images, taken, raw

    def _block_of(self, row: int, file: int, start: int, extra: list[int]) -> NDArray[Any]:
        cache = self._pipeline.cache
        if cache is None:
            return self._read(file, start, extra)
        block = cache.get(row)
        if block is None:
            block = self._read(file, start, extra)
            # What is kept is never read again, and so must be whole now.
            self._let_go()
            cache.put(row, block)
        return block

    def _read(self, file: int, start: int, extra: list[int]) -> NDArray[Any]:
        reader = self._pipeline.reader
        source, block = self._sources.get(file) or self._open(file)
        if block is None:
            return reader.select(source, start, extra)
        reader.fill(source, start, extra, block, self._pipeline.handles.turn)
        return block

    def _open(self, file: int) -> tuple[OpenDataset, NDArray[Any] | None]:
        """Open a file, and give the memory that its blocks are read into, if it is not HDF5's."""
        pipeline = self._pipeline
        # A batch may be of more files than may be open.
        if len(self._sources) == pipeline.handles.most_at_once:
            self._let_go()
        source, block = pipeline.open(file), None
        if pipeline.reader.reads_bytes(source):
            form = pipeline.block_shapes[file], source.dtype
            # Into the memory of the last block: fresh memory costs more than reading.
            block = self._blocks.get(form)
            if block is None:
                block = self._blocks[form] = np.empty(*form)
        self._sources[file] = source, block
        return source, block

    def _let_go(self) -> None:
        """Release the files that were read, all of which must be as they were when opened."""
        for source, _ in self._sources.values():
            source.check()
        self._sources.clear()

    def _make(self, at: int, block: NDArray[Any], out: NDArray[np.float32], name: str) -> int:
        maker, generator = self._pipeline.maker, self._generator
        if generator is None:
            maker.make(block, out, name, None)
            return 0
        generator.reset(int(self._span.positions[at]))
        maker.make(block, out, name, generator.generator)
        return generator.taken()
