"""Loaders that people have, one of each kind, over the same six records."""

from __future__ import annotations

import io
import os
import random
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["IN_PROCESS", "LOADERS", "STATEFUL", "dying", "write_shard"]

ROWS = [{"x": [index / 8, 1.0], "name": f"n{index}"} for index in range(6)]


def drawing(sample: Any, rng: np.random.Generator) -> Any:
    return {**sample, "noise": rng.normal()}


def dying(sample: Any) -> Any:
    """Let the process end without a word at the fourth record."""
    if sample == 3:
        os._exit(3)
    return sample


def write_shard(path: Path) -> Path:
    """Write the records as one shard of WebDataset."""
    with tarfile.open(path, "w") as shard:
        for row in ROWS:
            data = str(row["x"][0]).encode()
            member = tarfile.TarInfo(f"{row['name']}.txt")
            member.size = len(data)
            shard.addfile(member, io.BytesIO(data))
    return path


def a_list(_: Path) -> Any:
    return list(ROWS)


def grain_map(_: Path) -> Any:
    import grain

    return grain.MapDataset.source(ROWS).shuffle(seed=3).random_map(drawing, seed=4).repeat(2)


def grain_iter(_: Path) -> Any:
    import grain

    return grain.MapDataset.source(ROWS).to_iter_dataset().random_map(drawing, seed=4).batch(4)


def grain_workers(folder: Path) -> Any:
    import grain

    return grain_map(folder).to_iter_dataset().mp_prefetch(grain.MultiprocessingOptions(2))


def grain_loader(_: Path) -> Any:
    import grain

    sampler = grain.samplers.IndexSampler(6, shuffle=True, seed=1, num_epochs=2)
    return grain.DataLoader(data_source=ROWS, sampler=sampler, worker_count=0)


def hub_rows(_: Path) -> Any:
    import datasets

    return datasets.Dataset.from_list(ROWS).shuffle(seed=2)


def hub_stream(_: Path) -> Any:
    import datasets

    return datasets.Dataset.from_list(ROWS).to_iterable_dataset().shuffle(seed=2, buffer_size=4)


def web_pipeline(folder: Path) -> Any:
    import webdataset

    shard = folder / "shard-0.tar"
    if not shard.exists():
        write_shard(shard)
    shards = webdataset.WebDataset(str(shard), shardshuffle=False)
    return shards.shuffle(4, rng=random.Random(3)).decode()


IN_PROCESS: list[Callable[[Path], Any]] = [
    a_list,
    grain_map,
    grain_iter,
    grain_loader,
    hub_rows,
    hub_stream,
    web_pipeline,
]
LOADERS = [*IN_PROCESS, grain_workers]

STATEFUL = [grain_map, grain_iter, grain_loader, hub_stream]
"""Those whose place can be saved and taken up again."""
