"""The seed that a run declares is the one that its orders come of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import RandomSampler, Sampler

from detloader import open_run, record
from detloader.audits import audit
from detloader.manifest.schema import Header
from tests.support.results import findings_of
from tests.support.torch_datasets import distributed_sampler, torch_loader

WORKERS = pytest.mark.parametrize(
    "workers",
    [
        {},
        {"num_workers": 1},
        {"num_workers": 1, "persistent_workers": True},
    ],
    ids=["none", "one", "persistent"],
)


def header_of(run: Path) -> Header:
    return open_run(run).streams["main"].ranks[0].header


def seeded_after(run: Path, seeds: list[int], **options: Any) -> Header:
    """Seed Torch before each epoch, after the loader was recorded."""
    torch.manual_seed(0)
    with record(torch_loader(range(30), shuffle=True, **options), run) as twin:
        for seed in seeds:
            torch.manual_seed(seed)
            list(twin)
    return header_of(run)


@WORKERS
def test_a_seed_that_is_set_after_the_loader_was_recorded_is_declared(
    workers: dict[str, Any], tmp_path: Path
) -> None:
    runs = [tmp_path / name for name in "ab"]
    for run, seed in zip(runs, (101, 202), strict=True):
        header = seeded_after(run, [seed], **workers)
        assert (header.declared.seed, header.seen.seeds) == (seed, [seed])

    (finding,) = findings_of(audit(*runs), "seed-handling")

    assert finding.evidence["kind"] == "different"


@WORKERS
def test_of_several_seeds_none_is_declared_and_all_are_listed(
    workers: dict[str, Any], tmp_path: Path
) -> None:
    header = seeded_after(tmp_path / "run", [5, 6, 5], **workers)

    assert not isinstance(header.declared.seed, int)
    assert header.seen.seeds == [5, 6]


def test_a_generator_that_is_seeded_after_the_loader_was_recorded(tmp_path: Path) -> None:
    generator = torch.Generator().manual_seed(1)
    with record(
        torch_loader(range(9), shuffle=True, generator=generator), tmp_path / "run"
    ) as twin:
        generator.manual_seed(2**64 - 1)
        list(twin)
        list(twin)

    assert header_of(tmp_path / "run").declared.seed == 2**64 - 1


def test_a_generator_that_the_sampler_does_not_draw_from_tells_no_seed(tmp_path: Path) -> None:
    torch.manual_seed(3)
    loader = torch_loader(
        range(9), sampler=RandomSampler(range(9)), generator=torch.Generator().manual_seed(1)
    )
    with record(loader, tmp_path / "run") as twin:
        list(twin)

    assert header_of(tmp_path / "run").declared.seed == 3


def test_a_seed_that_changes_between_an_iterator_and_its_first_step_is_not_declared(
    tmp_path: Path,
) -> None:
    with record(torch_loader(range(9), shuffle=True), tmp_path / "run") as twin:
        iterator = iter(twin)
        torch.manual_seed(4)
        list(iterator)

    assert not isinstance(header_of(tmp_path / "run").declared.seed, int)


def test_a_run_without_an_order_declares_no_seed(tmp_path: Path) -> None:
    with record(torch_loader(range(9), shuffle=True), tmp_path / "run"):
        pass

    assert not isinstance(header_of(tmp_path / "run").declared.seed, int)


def test_what_the_user_declares_stands(tmp_path: Path) -> None:
    loader = torch_loader(range(9), shuffle=True)
    with record(loader, tmp_path / "run", declared={"seed": 77}) as twin:
        list(twin)

    assert header_of(tmp_path / "run").declared.seed == 77


def test_a_samplers_own_seed_is_declared_and_those_of_epochs_are_listed(tmp_path: Path) -> None:
    sampler = distributed_sampler(range(9), 1, 0, seed=10)
    with record(torch_loader(range(9), sampler=sampler), tmp_path / "run") as twin:
        for epoch in range(2):
            sampler.set_epoch(epoch)
            list(twin)
    header = header_of(tmp_path / "run")

    assert (header.declared.seed, header.seen.seeds) == (10, [10, 11])


class Shuffled(Sampler[int]):
    """Says that it shuffles, and not what with."""

    shuffle = True

    def __iter__(self) -> Iterator[int]:
        return iter([2, 0, 1])

    def __len__(self) -> int:
        return 3


def test_of_a_sampler_of_the_users_own_torch_is_no_seed(tmp_path: Path) -> None:
    with record(torch_loader(range(3), sampler=Shuffled()), tmp_path / "run") as twin:
        list(twin)
    header = header_of(tmp_path / "run")

    assert header.declared.shuffle is True
    assert not isinstance(header.declared.seed, int)


class Seeded:
    """Numbers of a data set that has seed and epoch for uses of its own."""

    seed, epoch = 3, 0

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> int:
        return index


class Told(Seeded):
    """The same, to which the epoch is told."""

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch


@pytest.mark.parametrize("dataset", [Seeded(), Told()])
def test_seed_and_epoch_of_a_data_set_are_the_order_s_where_it_is_told_the_epoch(
    dataset: Seeded, tmp_path: Path
) -> None:
    with record(torch_loader(dataset, batch_size=2), tmp_path / "run") as twin:
        for dataset.epoch in range(2):
            list(twin)
        dataset.seed = None  # type: ignore[assignment]
        list(twin)
    rows = open_run(tmp_path / "run").streams["main"].table().to_pydict()

    assert rows["record"] == [*range(6)] * 3
    if isinstance(dataset, Told):
        assert rows["seed"] == [3] * 6 + [4] * 6 + [None] * 6
    else:
        assert "seed" not in rows
