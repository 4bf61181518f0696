"""The well-known faults on the real library, each beside its mended twin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch.utils.data import RandomSampler, WeightedRandomSampler

from detloader import check, record
from tests.support.torch_datasets import (
    Augmented,
    GlobalDraws,
    distributed_sampler,
    seed_alike,
    seed_transform,
    torch_loader,
)


def rules_of(run: Path) -> list[str]:
    return [finding.rule for finding in check(run).findings]


def test_a_generator_kept_by_a_transform_is_copied_into_the_workers(tmp_path: Path) -> None:
    def run(name: str, **options: Any) -> Path:
        torch.manual_seed(1)
        loader = torch_loader(
            Augmented(96),
            batch_size=8,
            shuffle=True,
            num_workers=2,
            multiprocessing_context="fork",
            **options,
        )
        with record(loader, tmp_path / name) as recorded:
            list(recorded)
        return tmp_path / name

    (finding,) = check(run("faulty")).findings

    assert finding.rule == "worker-rng-clone"
    assert finding.evidence["column"] == "draws_transform.rng"
    healthy = finding.evidence["healthy"]
    assert healthy == ["draws", "draws_numpy", "draws_python", "draws_torch"]
    assert rules_of(run("mended", worker_init_fn=seed_transform)) == []


def test_workers_that_seed_numpy_alike_are_told_from_torch_which_is_healthy(tmp_path: Path) -> None:
    torch.manual_seed(1)
    loader = torch_loader(GlobalDraws(96), batch_size=8, num_workers=2, worker_init_fn=seed_alike)
    with record(loader, tmp_path / "run") as recorded:
        list(recorded)

    (finding,) = check(tmp_path / "run").findings

    assert finding.rule == "worker-rng-clone"
    assert finding.evidence["column"] == "draws_numpy"
    assert finding.evidence["healthy"] == ["draws", "draws_python", "draws_torch"]


def two_ranks(run: Path, *, told: bool) -> None:
    for rank in range(2):
        sampler = distributed_sampler(range(64), 2, rank, seed=5)
        loader = torch_loader(range(64), batch_size=4, sampler=sampler)
        with record(loader, run) as recorded:
            for epoch in range(3):
                if told:
                    sampler.set_epoch(epoch)
                list(recorded)


def test_a_distributed_sampler_that_is_never_told_the_epoch_repeats_its_order(
    tmp_path: Path,
) -> None:
    two_ranks(tmp_path / "faulty", told=False)
    two_ranks(tmp_path / "mended", told=True)

    (finding,) = check(tmp_path / "faulty").findings

    assert finding.rule == "epoch-order-repeat"
    assert finding.evidence["epochs"] == [[0, 1, 2]]
    assert finding.evidence["seeds"] == [5, 5, 5]
    assert "never told the epoch" in finding.cause
    assert rules_of(tmp_path / "mended") == []


def test_a_weighted_sampler_that_was_replaced_by_a_plain_one_ignores_its_weights(
    tmp_path: Path,
) -> None:
    weights = [1.0, 1.0, 6.0] * 20
    torch.manual_seed(2)
    samplers = {
        "faulty": RandomSampler(range(60), replacement=True, num_samples=1200),
        "mended": WeightedRandomSampler(weights, 1200),
    }
    for name, sampler in samplers.items():
        loader = torch_loader(range(60), batch_size=10, sampler=sampler)
        declared = {"weights": weights, "replacement": True}
        with record(loader, tmp_path / name, declared=declared) as recorded:
            list(recorded)

    assert rules_of(tmp_path / "faulty") == ["ignored-weights"]
    assert rules_of(tmp_path / "mended") == []
