"""Data sets for Torch's loaders: spawned workers import them from here."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import (
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    get_worker_info,
)

__all__ = [
    "Augmented",
    "Counting",
    "Crop",
    "Dying",
    "Failing",
    "Fetching",
    "Finished",
    "GlobalDraws",
    "Own",
    "RepeatedLoader",
    "Resumable",
    "as_it_is",
    "distributed_sampler",
    "note_start",
    "pad_together",
    "seed_alike",
    "seed_transform",
    "torch_loader",
]


BAD = 3
FATAL = 31


def torch_loader(dataset: Any, **options: Any) -> DataLoader[Any]:
    """Make a loader of anything that has a length and items, as Torch in truth allows."""
    return DataLoader(dataset, **options)


def distributed_sampler(dataset: Any, ranks: int, rank: int, **options: Any) -> Any:
    """Make a sampler of anything that has a length, for one of so many ranks."""
    return DistributedSampler(dataset, ranks, rank, **options)


class GlobalDraws(Dataset[Any]):
    """Draws as many numbers as an index says, from each of the global generators."""

    def __init__(self, size: int, *, python: bool = True, numpy: bool = True) -> None:
        self.size = size
        self.python = python
        self.numpy = numpy

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        drawn = torch.rand(3)
        if self.python and index % 2:
            drawn[0] = random.gauss(0, 1)
        if self.numpy and index % 3:
            drawn[1] = float(np.random.normal())  # noqa: NPY002 - the global one is meant
        return drawn + index, index % 4


class Crop:
    """A transform that keeps a generator of its own."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def __call__(self, image: torch.Tensor) -> torch.Tensor:
        return image + int(self.rng.integers(0, 1000))


class Augmented(Dataset[Any]):
    """Images whose transform keeps a generator, as it is copied into each worker."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.transform = Crop(seed=0)

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        flipped = torch.rand(()) < 0.5
        return self.transform(torch.full((2, 2), index)) + int(flipped), index % 3


def seed_transform(worker: int) -> None:
    """Give each worker a generator of its own: the mended way."""
    info: Any = get_worker_info()
    info.dataset.transform.rng = np.random.default_rng([info.seed, worker])


class Counting(IterableDataset[Any]):
    """Numbers, dealt to the workers one by one."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __iter__(self) -> Iterator[dict[str, Any]]:
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for number in range(first, self.size, step):
            yield {"key": f"n{number}", "x": torch.rand(2) + number}


class Own(IterableDataset[Any]):
    """Numbers, from a data set that is its own iterator."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.next = 0

    def __iter__(self) -> Own:
        self.next = 0
        return self

    def __next__(self) -> dict[str, Any]:
        if self.next >= self.size:
            raise StopIteration
        self.next += 1
        return {"key": f"n{self.next}", "x": torch.rand(2) + self.next}


class Resumable(IterableDataset[Any]):
    """Numbers, in one place at a time that can be saved and loaded."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.next = 0

    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        while first + self.next * step < self.size:
            self.next += 1
            yield first + (self.next - 1) * step
        self.next = 0

    def state_dict(self) -> dict[str, int]:
        return {"next": self.next}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.next = state["next"]


class Fetching(Dataset[Any]):
    """Reads the samples of a batch at once, and shows what a worker wrote on it."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.note = -1

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> tuple[Any, int]:
        return torch.rand(2) + index, self.note

    def __getitems__(self, indices: list[int]) -> list[tuple[Any, int]]:
        return list(zip(torch.rand(len(indices), 2), [self.note] * len(indices), strict=True))


class Finished(Dataset[Any]):
    """Puts the samples of a batch together itself, in one of several forms.

    Attributes:
        form: "pair", "list", "dict", "nested" or "array".
    """

    def __init__(self, size: int, form: str) -> None:
        self.size = size
        self.form = form

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: Any) -> Any:
        numbers = torch.arange(self.size)[index]
        x, y = torch.stack([numbers, numbers * 3], dim=-1), numbers % 4
        named = {"x": x, "label": y}
        forms = {"pair": (x, y), "list": [x, y], "dict": named, "nested": (named, y), "array": x}
        return forms[self.form]

    def __getitems__(self, indices: list[int]) -> Any:
        return self[indices]


def as_it_is(batch: Any) -> Any:
    """Collate nothing: the data set has made the batch."""
    return batch


class Failing(Dataset[Any]):
    """Numbers, of which 3 cannot be read."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> int:
        if index == BAD:
            message = "three"
            raise KeyError(message)
        return index


class Dying(Failing):
    """Numbers, of which 31 ends the process."""

    def __getitem__(self, index: int) -> int:
        if index == FATAL:
            os._exit(1)
        return index


class RepeatedLoader(DataLoader[Any]):
    """A loader that makes its one iterator beforehand."""

    def __init__(self, dataset: Any) -> None:
        super().__init__(dataset)
        self.kept = super().__iter__()

    def __iter__(self) -> Any:
        return self.kept


def seed_alike(worker: int) -> None:
    """Seed NumPy's global generator with one number in all workers."""
    np.random.seed(0)  # noqa: NPY002 - the global one is meant


def note_start(worker: int) -> None:
    """Write on the data set that the worker is shown."""
    info: Any = get_worker_info()
    assert issubclass(type(info.dataset), Dataset)
    info.dataset.note = 100 + worker


def pad_together(samples: list[Any]) -> dict[str, Any]:
    """Make a batch whose rows depend on their neighbours, and change the samples on the way."""
    lengths = [len(sample["x"]) for sample in samples]
    keys = [sample.pop("key") for sample in samples]
    padded = torch.nn.utils.rnn.pad_sequence([sample["x"] for sample in samples])
    return {"padded": padded, "lengths": lengths, "keys": keys, "noise": torch.rand(())}
