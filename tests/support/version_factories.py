"""Factories that environments of other versions run: nothing is imported before it is needed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import metadata
from typing import Any

import numpy as np

__all__ = [
    "array_batches",
    "dying",
    "failing",
    "hanging",
    "interpreters",
    "no_loader",
    "own_stream",
    "parent",
    "printing",
    "shards",
    "sliced",
    "texts",
    "torch_batches",
    "toy_without_1_1",
    "toys",
    "unlike",
]


def array_batches(batches: int = 5) -> list[dict[str, Any]]:
    """Return batches of several types."""
    generator = np.random.default_rng(0)
    return [
        {
            "id": list(range(3 * batch, 3 * batch + 3)),
            "image": generator.random((3, 4, 4), dtype=np.float32),
            "label": [f"class {batch}", "ö", ""],
            "nested": {
                "mask": generator.integers(0, 2, (3, 2)).astype(bool),
                "weights": [0.5, 1.0, 2],
            },
        }
        for batch in range(batches)
    ]


def texts() -> list[tuple[Any, ...]]:
    """Return samples that have no IDs."""
    return [(f"text {i}", i, None, bytes(i), np.float16(i)) for i in range(7)]


def shards(count: int = 4) -> Iterator[dict[str, int]]:
    """Yield 103 records from the shards of a Grain loader that keeps remainders."""
    import grain

    for shard in range(count):
        options = grain.sharding.ShardOptions(shard, count, drop_remainder=False)
        sampler = grain.samplers.IndexSampler(103, options, shuffle=True, num_epochs=1, seed=7)
        yield from grain.DataLoader(data_source=_Records(), sampler=sampler)


def sliced() -> Iterator[dict[str, int]]:
    """Yield two epochs of every other record of a shuffled source."""
    import grain

    yield from grain.MapDataset.source(_Records()).shuffle(seed=3)[::2].repeat(2)


class _Records:
    def __len__(self) -> int:
        return 103

    def __getitem__(self, index: int) -> dict[str, int]:
        return {"id": int(index)}


def interpreters() -> list[dict[str, object]]:
    """Return what follows the Python that runs it."""
    return [{"id": 0}, {"id": 1, "prefix": sys.prefix}]


def own_stream() -> Any:
    """Return a stream of detloader's own."""
    from detloader import to_grain

    return to_grain([*range(30)], seed=5)


def torch_batches() -> Any:
    """Return a loader of Torch, whose adapter here sees draws as well."""
    import torch

    from tests.support.torch_datasets import torch_loader

    samples = [{"id": i, "x": torch.arange(3) * i, "name": f"r{i}"} for i in range(23)]
    generator = torch.Generator().manual_seed(1)
    return torch_loader(samples, batch_size=4, shuffle=True, generator=generator)


def toys(count: int = 20) -> Any:
    """Return what the toy of tests.support.toy_index delivers."""
    import detloader_toy  # type: ignore[import-not-found]

    return detloader_toy.order(count)


def toy_without_1_1() -> Any:
    """Fail with one release of the toy."""
    if metadata.version("detloader-toy") == "1.1":
        message = "not with 1.1"
        raise RuntimeError(message)
    return toys()


def failing() -> Iterator[int]:
    """Fail after two elements."""
    yield from (1, 2)
    message = "the third is broken"
    raise ValueError(message)


def dying() -> Iterator[int]:
    """Die without a word."""
    yield 1
    os.kill(os.getpid(), signal.SIGKILL)


def hanging() -> Iterator[int]:
    """Deliver one element, and never another."""
    yield 1
    time.sleep(600)


def parent() -> list[int]:
    """Leave a process behind that keeps all that it inherits open."""
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], close_fds=False)
    return [1, 2, 3]


def printing() -> list[int]:
    """Print megabytes."""
    sys.stdout.write("much\n" * 1_000_000)
    return [1]


def no_loader() -> None:
    """Return no loader."""


def unlike() -> list[object]:
    """Return elements of which none has bytes."""
    return [object(), object()]
