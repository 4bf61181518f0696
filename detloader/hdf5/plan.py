"""What a Dataloader does, for any of its epochs: a function of files and arguments."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from detloader.errors import UsageError
from detloader.findings import JsonValue
from detloader.grain.elements import Witnessing
from detloader.grain.iterators import grain
from detloader.hdf5.building import build_pipeline
from detloader.hdf5.delivery.batches import BatchMaker
from detloader.hdf5.delivery.finishing import Finisher
from detloader.hdf5.delivery.read_ahead import Batches
from detloader.hdf5.delivery.state import State, fingerprint_of, name_of, read_state
from detloader.hdf5.delivery.tensors import tensor_converter
from detloader.hdf5.files.discovery import Discovered
from detloader.hdf5.order.epochs import Pass
from detloader.hdf5.order.sample_order import SampleOrder, Shard
from detloader.hdf5.settings import Settings

__all__ = ["Plan"]

_READ_AHEAD = 64 * 10**6
"""Bytes of images that are read ahead at most; but one batch always is."""


class Plan:
    """Makes the streams of a loader; it may be pickled.

    Attributes:
        settings: the arguments.
        seed: that of the settings, or one that was drawn in its place.
        files: what is read.
        commits: those that paths of a hub stand for, by repository.
        pipeline: what makes its samples.
        finisher: what happens to elements last.
    """

    def __init__(self, found: Discovered, settings: Settings, capacity: int) -> None:
        """Look into the files.

        Raises:
            FileError: one cannot be used.
            BatchError: they give samples that do not fit into one batch.
            UsageError: arguments do not fit the files, or each other.
        """
        self.settings = settings
        seed = settings.seed
        self.seed = int(np.random.default_rng().integers(0, 2**31)) if seed is None else seed
        self.files = found.files
        self.commits = found.commits
        self.pipeline = build_pipeline(found.files, settings, self.seed, capacity)
        self.finisher = Finisher(
            augmentation=settings.augmentation,
            convert=tensor_converter() if settings.convert_to_tensor else None,
            return_filename=settings.return_filename,
        )
        self._refuse_lone_seed()
        self._refuse_nothing()

    def order(self, seed: int, *, shard_index: int | None = None) -> SampleOrder:
        """Return the order of an epoch of this seed, by default of the own shard."""
        settings = self.settings
        return SampleOrder(
            size=len(self.pipeline.table),
            seed=seed if settings.shuffle else None,
            shard=Shard(
                index=settings.shard_index if shard_index is None else shard_index,
                count=settings.num_shards,
                remainder=settings.shard_remainder,
            ),
            compatibility=settings.compatibility,
        )

    def maker(self, pass_: Pass, witnessing: Witnessing = Witnessing.OFF) -> BatchMaker:
        """Return what makes the batches of an epoch."""
        return BatchMaker(self.pipeline, self.order(pass_.seed), pass_, witnessing)

    def dataset(self, pass_: Pass) -> grain.MapDataset[Any]:
        """Return an epoch's elements for random access."""
        maker = self.maker(pass_)
        return Batches(maker).map(functools.partial(self.finisher.finish, maker))

    def shape(self) -> tuple[int, ...]:
        """Return the shape of the first element's images, without reading any."""
        maker = self.maker(Pass(0, self.seed))
        rows = maker.span(0).rows
        file = int(self.pipeline.table.locate(rows).file[0])
        sample = self.pipeline.sample_shapes[file]
        shape = sample if self.settings.batch_size is None else (len(rows), *sample)
        return self.finisher.augmented_shape(shape)

    @functools.cached_property
    def fingerprint(self) -> str:
        """What tells this rank's epochs from those of other files or arguments."""
        files: list[JsonValue] = [
            [file.label, list(shape)]
            for file, shape in zip(self.files, self.pipeline.shapes, strict=True)
        ]
        return fingerprint_of(
            {
                "settings": self.settings.described(),
                "seed": self.seed,
                "shard_index": self.settings.shard_index,
                "files": files,
                "dtypes": [dtype.str for dtype in self.pipeline.dtypes],
                "commits": dict(self.commits),
                "augmentation": name_of(self.settings.augmentation),
            }
        )

    def read_state(self, saved: Mapping[str, Any]) -> State:
        """Return a state that was saved by the same loader; see `read_state`."""
        return read_state(saved, self.fingerprint)

    def read_options(self) -> grain.ReadOptions:
        """Return how far Grain reads ahead, and with how many threads."""
        settings = self.settings
        samples = settings.prefetch_buffer_size if settings.prefetch else 0
        # Grain counts elements, and those are batches.
        size = settings.batch_size or 1
        largest = max(map(math.prod, set(self.pipeline.sample_shapes)))
        bound = max(_READ_AHEAD // max(size * largest * np.dtype(np.float32).itemsize, 1), 1)
        elements = min(-(-samples // size), bound)
        return grain.ReadOptions(
            num_threads=min(settings.num_threads, elements), prefetch_buffer_size=elements
        )

    def _refuse_lone_seed(self) -> None:
        settings = self.settings
        if settings.seed is not None or settings.num_shards == 1 or settings.compatibility:
            return
        draws = self.pipeline.maker.draws or self.finisher.gives_generator
        if settings.shuffle or draws:
            raise UsageError(
                f"num_shards={settings.num_shards} needs a seed, the same on every rank: "
                "give seed=0 or another integer"
            )

    def _refuse_nothing(self) -> None:
        settings, size = self.settings, len(self.pipeline.table)
        pass_, last = Pass(0, self.seed), settings.num_shards - 1
        # The last shard has the fewest samples. Where it has none, each rank says so, for one
        # that fails alone leaves the others waiting.
        order = self.order(self.seed, shard_index=last)
        if not order.rows_of_pass:
            raise UsageError(
                f"no samples: shard {last} of {settings.num_shards} has none of {size}; lower "
                f"num_shards to at most {size}"
            )
        if not len(BatchMaker(self.pipeline, order, pass_)):
            of_shard = f" of shard {last}" if last else ""
            raise UsageError(
                f"no samples: drop_remainder leaves no batch of {settings.batch_size}{of_shard}; "
                "lower batch_size"
            )
