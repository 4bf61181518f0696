"""Draws of generators that are made late, or seeded for each sample."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import (
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    get_worker_info,
    random_split,
)

from detloader import open_run, record
from detloader.audits import audit, check
from tests.support.results import lacking

SIZE = 64


class MadeWithTheFirstSample(Dataset[Any]):
    """The usual mend of a generator that forked workers have copies of."""

    rng: np.random.Generator | None = None

    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: int) -> Any:
        if self.rng is None:
            self.rng = np.random.default_rng(torch.initial_seed())
        return np.array([index, self.rng.random()])


class MadeForEachSample(Dataset[Any]):
    """The sound way: a seed, the epoch and the index."""

    epoch = 0

    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: int) -> Any:
        self.rng = np.random.default_rng([7, self.epoch, index])
        return np.array([index, self.rng.random()])


class SetForEachSample(Dataset[Any]):
    """Sets a generator that it keeps, to a state of the epoch and the index or of fewer."""

    epoch = 0

    def __init__(self, *keys: str) -> None:
        self.rng = np.random.default_rng(0)
        self.keys = keys

    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: int) -> Any:
        known = {"epoch": self.epoch, "index": index}
        self.rng.bit_generator.state = np.random.PCG64(
            [7, *(known[key] for key in self.keys)]
        ).state
        return np.array([index, self.rng.random()])


class MadeForEachSampleAtOnce(MadeForEachSample):
    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [self[index] for index in indices]


class MadeWithTheIterator(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        worker = get_worker_info()
        first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        self.rng = np.random.default_rng([torch.initial_seed(), first])
        for index in range(first, SIZE, step):
            yield {"id": index, "x": self.rng.random()}


class MadeWithThePass(IterableDataset[Any]):
    """Counts its passes itself, as nobody can tell a worker that persists."""

    epoch = 0
    passes = 0

    def __iter__(self) -> Iterator[Any]:
        self.rng = np.random.default_rng([7, self.passes])
        self.passes += 1
        for index in range(SIZE):
            yield {"id": index, "x": self.rng.random()}


class SeededForEachSample(Dataset[Any]):
    def __init__(self, *, is_frozen: bool) -> None:
        self.is_frozen = is_frozen
        self.epoch = 0

    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: int) -> Any:
        seed = index if self.is_frozen else index + SIZE * self.epoch
        random.seed(seed)
        torch.manual_seed(seed)
        return np.array([index, random.random(), torch.rand(()).item()])


class Composed(Dataset[Any]):
    def __init__(self, seed: int) -> None:
        self.transform = Composition(Composition(Noise(seed)))

    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: int) -> Any:
        return self.transform(float(index))


class Composition:
    def __init__(self, *transforms: Any) -> None:
        self.transforms = list(transforms)

    def __call__(self, value: float) -> float:
        for transform in self.transforms:
            value = transform(value)
        return value


class Noise:
    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def __call__(self, value: float) -> float:
        return value + self.rng.normal()


def recorded(
    dataset: Any, run: Path, workers: int, *, shuffle: bool = False, size: int = 8, **how: Any
) -> Any:
    torch.manual_seed(3)
    loader = DataLoader(
        dataset,
        batch_size=size,
        num_workers=workers,
        shuffle=shuffle,
        persistent_workers=workers == 1,
    )
    with record(loader, run, **how) as twin:
        for epoch in range(3):
            dataset.epoch = epoch
            list(twin)
    return open_run(run).streams["main"]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("size", [1, 8])
@pytest.mark.parametrize("make", [MadeWithTheFirstSample, MadeWithTheIterator])
def test_draws_of_a_generator_are_seen_from_the_sample_that_it_is_made_with(
    make: type[Any], size: int, workers: int, tmp_path: Path
) -> None:
    ids: dict[str, Any] = {"ids": "id"} if make is MadeWithTheIterator else {}

    stream = recorded(make(), tmp_path / "run", workers, size=size, **ids)

    assert stream.table(["draws"])["draws"].null_count == 0
    assert not check(tmp_path / "run").findings


@pytest.mark.parametrize("size", [1, 8])
def test_draws_of_each_pass_are_seen_in_a_worker_that_persists(size: int, tmp_path: Path) -> None:
    for workers in (0, 1):
        run = tmp_path / f"{workers}"
        stream = recorded(MadeWithThePass(), run, workers, size=size, ids="id")
        assert stream.table(["draws"])["draws"].null_count == 0
        assert not check(run).findings

    assert audit(tmp_path / "0", tmp_path / "1").verdict == "identical"


@pytest.mark.parametrize("size", [1, 2, 8, SIZE])
@pytest.mark.parametrize("make", [MadeForEachSample, MadeForEachSampleAtOnce])
def test_generators_that_are_made_for_each_sample_are_not_looked_at(
    make: type[Any], size: int, tmp_path: Path
) -> None:
    for workers in (0, 2):
        run = tmp_path / f"{workers}"
        stream = recorded(make(), run, workers, size=size)
        assert stream.table(["draws"])["draws"].null_count == stream.rows
        assert not check(run).findings

    assert audit(tmp_path / "0", tmp_path / "2").verdict == "identical"


@pytest.mark.parametrize("batches", [1, 2, 3, 5])
@pytest.mark.parametrize("workers", [0, 2])
def test_nothing_is_lost_of_a_loop_that_ends_before_generators_can_be_told_apart(
    workers: int, batches: int, tmp_path: Path
) -> None:
    loader = DataLoader(MadeForEachSample(), batch_size=1, num_workers=workers)

    with record(loader, tmp_path / "run") as twin:
        for _ in range(2):
            for _ in zip(range(batches), twin, strict=False):
                pass

    rows = open_run(tmp_path / "run").streams["main"].table(["record", "epoch", "draws"])
    assert rows["record"].to_pylist() == [*range(batches)] * 2
    assert rows["epoch"].to_pylist() == [0] * batches + [1] * batches
    assert rows["draws"].null_count == len(rows)


def test_draws_of_a_sample_that_seeds_are_its_own_whoever_made_the_one_before(
    tmp_path: Path,
) -> None:
    for workers in (0, 2):
        recorded(SeededForEachSample(is_frozen=False), tmp_path / f"{workers}", workers)

    found = audit(tmp_path / "0", tmp_path / "2")

    assert (found.verdict, found.findings) == ("identical", [])
    assert not check(tmp_path / "0").findings


def test_clones_are_told_of_a_generator_within_data_sets_within_others(tmp_path: Path) -> None:
    both: Any = ConcatDataset([Composed(1), Composed(2)])
    part, _ = random_split(both, [100, 28])

    recorded(part, tmp_path / "run", 2, shuffle=True)

    assert {each.rule for each in check(tmp_path / "run").findings} == {"worker-rng-clone"}


@pytest.mark.parametrize("workers", [0, 2])
def test_a_sample_that_seeds_alike_in_each_epoch_is_augmented_once_and_for_all(
    workers: int, tmp_path: Path
) -> None:
    recorded(SeededForEachSample(is_frozen=True), tmp_path / "run", workers, shuffle=True)

    assert [each.rule for each in check(tmp_path / "run").findings] == ["epoch-draw-repeat"]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    ("keys", "rules"), [(("epoch", "index"), []), (("index",), ["epoch-draw-repeat"])]
)
def test_a_state_that_is_set_for_each_sample_is_no_draw_of_it(
    keys: tuple[str, ...], rules: list[str], workers: int, tmp_path: Path
) -> None:
    recorded(SetForEachSample(*keys), tmp_path / "run", workers, shuffle=True)
    result = check(tmp_path / "run")

    assert [each.rule for each in result.findings] == rules
    assert [each.evidence["follows"] for each in result.findings] == ["record"] * len(rules)


def test_of_one_state_that_each_sample_sets_nothing_is_told(tmp_path: Path) -> None:
    recorded(SetForEachSample(), tmp_path / "run", 0, shuffle=True)
    result = check(tmp_path / "run")

    assert not result.findings
    assert lacking(result, "epoch-draw-repeat")
