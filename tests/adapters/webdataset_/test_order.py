"""What is declared of a WebDataset pipeline's order is what its stages say."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import webdataset as wds

from detloader import audit, check, open_run, record
from detloader.findings import Verdict

# WebDataset leaves the shards that it read to the garbage collector, who complains.
pytestmark = pytest.mark.filterwarnings(
    "ignore:unclosed file:ResourceWarning",
    "ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning",
)

UNKNOWN = msgspec.UNSET
SHARDS = 4


@pytest.fixture
def shards(tmp_path: Path) -> str:
    (tmp_path / "shards").mkdir()
    for shard in range(SHARDS):
        with wds.TarWriter(f"{tmp_path}/shards/{shard}.tar") as writer:
            for number in range(6):
                writer.write({"__key__": f"{number}", "npy": np.array([shard, number])})
    return f"{tmp_path}/shards/{{0..{SHARDS - 1}}}.tar"


def samples(urls: Any, shardshuffle: Any = False, **options: Any) -> Any:
    return wds.WebDataset(urls, shardshuffle=shardshuffle, **options)


def ones_own(data: Iterator[Any]) -> Iterator[Any]:
    yield from data


def resampled(urls: str, **options: Any) -> Any:
    return wds.DataPipeline(wds.ResampledShards(urls, **options), wds.tarfile_to_samples())


PIPELINES: dict[str, tuple[Callable[[str], Any], Any, Any]] = {
    "as it lies": (samples, False, UNKNOWN),
    "decoded": (lambda urls: samples(urls).decode().batched(2), False, UNKNOWN),
    "no shards": (lambda urls: samples(urls, 0), False, UNKNOWN),
    "a buffer of one": (lambda urls: samples(urls).compose(wds.shuffle(1)), False, UNKNOWN),
    "records": (lambda urls: samples(urls).shuffle(30, seed=5), True, 5),
    "records, without a seed": (lambda urls: samples(urls).shuffle(30), True, None),
    "records, by a generator": (
        lambda urls: samples(urls).shuffle(30, rng=random.Random(5)),
        True,
        UNKNOWN,
    ),
    "shards and records": (lambda urls: samples(urls, 9, seed=5).shuffle(30, seed=5), True, 5),
    "by several seeds": (lambda urls: samples(urls, 9, seed=5).shuffle(9, seed=6), True, UNKNOWN),
    "in a loader": (
        lambda urls: wds.WebLoader(samples(urls).shuffle(30, seed=5), batch_size=None),
        True,
        5,
    ),
    "behind a loader": (
        lambda urls: wds.WebLoader(samples(urls), batch_size=None).shuffle(30, seed=5),
        True,
        5,
    ),
    "by seed and epoch": (lambda urls: samples(urls).compose(wds.detshuffle(30, seed=5)), True, 5),
    "a few shards": (lambda urls: samples(urls, 9, seed=5, detshuffle=True), UNKNOWN, 5),
    "many shards": (
        lambda urls: samples(wds.shardlists.expand_urls(urls) * 3, 12, seed=5, detshuffle=True),
        True,
        5,
    ),
    "a listed order": (
        lambda urls: wds.DataPipeline(
            wds.SimpleShardList(urls, seed=5), wds.tarfile_to_samples(), wds.slice(9)
        ),
        UNKNOWN,
        5,
    ),
    "with replacement": (lambda urls: resampled(urls, seed=5, nshards=3), UNKNOWN, None),
    "with replacement, by a seed": (
        lambda urls: resampled(urls, seed=5, nshards=3, deterministic=True),
        UNKNOWN,
        5,
    ),
    "by a stage of one's own": (lambda urls: samples(urls).compose(ones_own), UNKNOWN, UNKNOWN),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_shuffle_and_seed_are_declared_where_the_stages_say_them(
    name: str, shards: str, tmp_path: Path
) -> None:
    make, shuffle, seed = PIPELINES[name]
    with record(make(shards), tmp_path / "run") as twin:
        list(twin)
    declared = open_run(tmp_path / "run").streams["main"].declared

    assert (declared.shuffle, declared.seed) == (shuffle, seed)
    assert declared.replacement is (True if "with replacement" in name else UNKNOWN)


def epochs_of(pipeline: Any, run: Path, epochs: int = 2) -> Path:
    with record(pipeline, run) as twin:
        for _ in range(epochs):
            list(twin)
    return run


def test_an_order_that_is_not_shuffled_may_come_again(shards: str, tmp_path: Path) -> None:
    result = check(epochs_of(samples(shards), tmp_path / "run"))

    assert result.findings == []


def test_a_shuffle_in_a_loader_that_comes_again_is_found(shards: str, tmp_path: Path) -> None:
    loader = wds.WebLoader(samples(shards).shuffle(30, seed=5).batched(4), batch_size=None)
    result = check(epochs_of(loader, tmp_path / "run"))

    assert [finding.rule for finding in result.findings] == ["epoch-order-repeat"]


def test_neighbouring_seeds_of_seed_plus_epoch_are_two_seeds(shards: str, tmp_path: Path) -> None:
    runs = [
        epochs_of(
            samples(shards).compose(wds.detshuffle(30, seed=seed)), tmp_path / str(seed), epochs=3
        )
        for seed in (5, 6)
    ]
    result = audit(*runs)

    assert result.verdict is Verdict.REORDERED
    assert [(finding.rule, finding.severity.value) for finding in result.findings] == [
        ("seed-handling", "note")
    ]


LOADERS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "none": (lambda data: data, UNKNOWN),
    "without workers": (lambda data: wds.WebLoader(data, batch_size=None), 0),
    "workers": (lambda data: wds.WebLoader(data, batch_size=None, num_workers=2), 2),
    "within a pipeline": (
        lambda data: wds.DataPipeline(wds.WebLoader(data, batch_size=None, num_workers=2)),
        2,
    ),
}


@pytest.mark.parametrize("name", LOADERS)
def test_a_loader_within_a_pipeline_tells_its_workers(
    name: str, shards: str, tmp_path: Path
) -> None:
    make, workers = LOADERS[name]
    record(make(samples(shards)), tmp_path / "run").close()

    assert open_run(tmp_path / "run").streams["main"].declared.workers == workers


def test_an_order_that_follows_the_workers_of_a_loader_is_named(
    shards: str, tmp_path: Path
) -> None:
    runs = [
        epochs_of(
            wds.WebLoader(samples(shards).batched(4), batch_size=None, num_workers=workers),
            tmp_path / str(workers),
        )
        for workers in (0, 2)
    ]

    assert [finding.rule for finding in audit(*runs).findings] == ["topology-dependence"]
