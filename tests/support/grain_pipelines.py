"""Pipelines as Grain's users build them; each sample holds the index of its record.

They live here, and not in a test, because worker processes import them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import grain
import numpy as np

Sample = dict[str, Any]


class Squares:
    """A source of records that say which they are."""

    def __init__(self, size: int, first: int = 0) -> None:
        self.size = size
        self.first = first

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> Sample:
        if not 0 <= index < self.size:
            raise IndexError(index)
        number = index + self.first
        return {"id": np.int64(number), "x": np.full(3, number**2, np.float32)}

    def __repr__(self) -> str:
        return f"Squares({self.size}, {self.first})"


class Own(grain.MapDataset[Sample]):
    """A dataset of the user's own class."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.source = Squares(size)

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.slice(index)
        return self.source[index % len(self)]


def noise(sample: Sample, rng: np.random.Generator) -> Sample:
    return sample | {"x": sample["x"] + rng.normal(size=3).astype(np.float32)}


def shift(sample: Sample, rng: np.random.Generator) -> Sample:
    return sample | {"x": sample["x"] + np.float32(rng.integers(5))}


def double(sample: Sample) -> Sample:
    return sample | {"x": sample["x"] * 2}


def is_even(sample: Sample) -> bool:
    return bool(sample["id"] % 2 == 0)


def numbered(index: int, sample: Sample) -> Sample:
    return sample | {"number": np.int64(index)}


def as_lists(samples: Sequence[Sample]) -> Sample:
    return {"id": [int(sample["id"]) for sample in samples], "x": [s["x"] for s in samples]}


def padded(samples: Sequence[Sample]) -> Sample:
    return grain.experimental.batch_and_pad(samples, batch_size=4)


class TwoFold(grain.experimental.FlatMapTransform):
    """Makes two samples of each record."""

    max_fan_out = 2

    def flat_map(self, element: Sample) -> Sequence[Sample]:
        return [element, double(element)]


class RandomShift(grain.transforms.RandomMap):
    def random_map(self, element: Sample, rng: np.random.Generator) -> Sample:
        return shift(element, rng)


class Even(grain.transforms.Filter):
    def filter(self, element: Sample) -> bool:
        return is_even(element)


def source(size: int = 23, first: int = 0) -> grain.MapDataset[Sample]:
    return grain.MapDataset.source(Squares(size, first))


def shuffled(size: int = 23) -> grain.MapDataset[Sample]:
    return source(size).shuffle(3)


def stream(dataset: grain.MapDataset[Sample]) -> grain.IterDataset[Sample]:
    return dataset.to_iter_dataset(grain.ReadOptions(num_threads=2, prefetch_buffer_size=8))


def in_workers(dataset: grain.IterDataset[Sample], workers: int) -> grain.IterDataset[Sample]:
    return dataset.mp_prefetch(grain.MultiprocessingOptions(num_workers=workers))


PIPELINES: dict[str, Callable[[], grain.IterDataset[Sample]]] = {
    "plain": lambda: stream(source()),
    "own class": lambda: stream(Own(9).shuffle(1)),
    "two epochs": lambda: stream(shuffled().repeat(2).random_map(noise, seed=5)),
    "same epoch again": lambda: stream(shuffled().repeat(2, reseed_each_epoch=False)),
    "default seeds": lambda: stream(source().seed(4).shuffle().random_map(noise).map(double)),
    "two transforms": lambda: stream(
        shuffled().random_map(noise, seed=5).random_map(shift, seed=6)
    ),
    "batches": lambda: stream(shuffled().random_map(noise, seed=5).batch(4)),
    "batches over epochs": lambda: stream(shuffled().repeat(2).batch(4, drop_remainder=True)),
    "drawn for a batch": lambda: stream(shuffled().batch(4).random_map(noise_of_batch, seed=2)),
    "batches of lists": lambda: stream(shuffled().batch(4, batch_fn=as_lists)),
    "padded batches": lambda: stream(shuffled().batch(4, batch_fn=padded)),
    "nested batches": lambda: stream(shuffled(24).random_map(noise, seed=1).batch(2).batch(3)),
    "slice": lambda: stream(shuffled()[1::3].repeat(2)),
    "filter": lambda: stream(shuffled().filter(is_even)),
    "mix": lambda: stream(
        grain.MapDataset.mix([source(9), source(5, 100)], [0.7, 0.3]).random_map(noise, seed=1)
    ),
    "concatenate": lambda: stream(grain.MapDataset.concatenate([source(4), source(3, 50)])),
    "window": lambda: stream(
        grain.experimental.WindowShuffleMapDataset(source(20), window_size=5, seed=1)
    ),
    "two of each": lambda: stream(
        grain.experimental.FlatMapMapDataset(source(6), TwoFold())
    ),
    "stream filter": lambda: stream(shuffled()).filter(is_even).batch(3),
    "stream batches": lambda: stream(shuffled().random_map(noise, seed=5)).batch(4),
    "stream draws": lambda: stream(shuffled()).random_map(noise, seed=5).map(double),
    "stream index": lambda: stream(shuffled()).map_with_index(numbered).batch(5),
    "stream repeat": lambda: grain.experimental.RepeatIterDataset(stream(shuffled()), 3),
    "stream window": lambda: grain.experimental.WindowShuffleIterDataset(
        stream(source()), window_size=5, seed=1
    ).batch(4),
    "stream limit": lambda: grain.experimental.LimitIterDataset(stream(shuffled()), 7),
    "stream mix": lambda: grain.IterDataset.mix([stream(source(9)), stream(source(5, 100))]),
    "stream thread": lambda: grain.experimental.ThreadPrefetchIterDataset(
        stream(shuffled()).batch(4), prefetch_buffer_size=2
    ),
    "options": lambda: grain.experimental.WithOptionsIterDataset(
        stream(shuffled()).batch(4), grain.experimental.DatasetOptions(min_shm_size=1000)
    ),
}  # fmt: skip


def noise_of_batch(batch: Sample, rng: np.random.Generator) -> Sample:
    return batch | {"x": batch["x"] + rng.normal(size=batch["x"].shape).astype(np.float32)}


def unknown() -> dict[str, grain.IterDataset[Any]]:
    """Give pipelines with nodes that move records out of sight."""
    few = stream(source(6))
    lengths = {"id": 4}
    packed = grain.MapDataset.source([{"id": np.arange(3)} for _ in range(4)]).to_iter_dataset()
    return {
        "ZipIterDataset": grain.experimental.ZipIterDataset([few, few]),
        "FirstFitPackIterDataset": grain.experimental.FirstFitPackIterDataset(
            packed, length_struct=lengths, num_packing_bins=2
        ),
        "Mine": Mine(few),
    }


class Mine(grain.IterDataset[Any]):
    """A stream node of the user's own class."""

    def __iter__(self) -> grain.DatasetIterator[Any]:
        return self._parent.__iter__()


def loader(
    *, workers: int = 0, shards: int = 1, shard: int = 0, batch: int | None = 4, epochs: int = 2
) -> grain.DataLoader:
    operations: list[Any] = [RandomShift(), Even()]
    if batch:
        operations.append(grain.transforms.Batch(batch))
    return grain.DataLoader(
        data_source=Squares(23),
        sampler=grain.samplers.IndexSampler(
            num_records=23,
            shard_options=grain.sharding.ShardOptions(shard, shards),
            shuffle=True,
            num_epochs=epochs,
            seed=4,
        ),
        operations=operations,
        worker_count=workers,
        read_options=grain.ReadOptions(num_threads=1, prefetch_buffer_size=4),
    )
