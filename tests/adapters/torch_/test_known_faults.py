"""The well-known faults on the real library, each beside its mended twin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import (
    Dataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    WeightedRandomSampler,
)

from detloader import audit, check, record
from detloader.findings import Verdict
from tests.support.results import lacking, loud_rules
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


def two_passes_for_each_epoch(run: Path, *, shuffle: bool = True, **options: Any) -> Path:
    for rank in range(2):
        sampler = distributed_sampler(range(64), 2, rank, seed=5, shuffle=shuffle)
        loader = torch_loader(range(64), batch_size=4, sampler=sampler)
        with record(loader, run, **options) as recorded:
            for epoch in range(3):
                sampler.set_epoch(epoch)
                list(recorded)
                list(recorded)
    return run


def test_a_second_pass_of_an_epoch_that_is_told_once_repeats_the_first(tmp_path: Path) -> None:
    (finding,) = check(two_passes_for_each_epoch(tmp_path / "run")).findings

    assert finding.rule == "epoch-order-repeat"
    assert finding.evidence["epochs"] == [[0, 1], [2, 3], [4, 5]]
    assert finding.evidence["seeds"] == [5, 5, 6, 6, 7, 7]
    assert "not told of each epoch" in finding.cause


@pytest.mark.parametrize(
    "options", [{"shuffle": False}, {"declared": {"purpose": "eval"}}], ids=["in order", "eval"]
)
def test_a_validation_that_is_passed_twice_is_no_fault(
    options: dict[str, Any], tmp_path: Path
) -> None:
    assert rules_of(two_passes_for_each_epoch(tmp_path / "run", **options)) == []


def validated(run: Path, draws: int) -> Path:
    """Record three epochs with draws between them, from the one generator that samples use."""

    class Noisy(Dataset[torch.Tensor]):
        def __len__(self) -> int:
            return 32

        def __getitem__(self, index: int) -> torch.Tensor:
            return index + torch.rand(1)

    torch.manual_seed(5)
    generator = torch.Generator().manual_seed(0)
    with record(torch_loader(Noisy(), shuffle=True, generator=generator), run) as recorded:
        for _ in range(3):
            list(recorded)
            torch.rand(draws)
    return run


@pytest.mark.parametrize("draws", [1, 2, 7, 1001])
def test_a_validation_that_draws_from_the_generator_of_samples_is_coupled_to_them(
    draws: int, tmp_path: Path
) -> None:
    alone = validated(tmp_path / "alone", 0)
    (finding,) = audit(alone, validated(tmp_path / "validated", draws)).findings

    assert (finding.rule, finding.evidence["first_epoch"]) == ("rng-coupling", 1)
    assert "validation pass" in (finding.cause or "")
    assert audit(alone, validated(tmp_path / "again", 0)).verdict is Verdict.IDENTICAL


@pytest.mark.parametrize("drop_last", [True, False])
def test_records_that_a_distributed_sampler_was_told_to_drop_are_a_note(
    drop_last: bool, tmp_path: Path
) -> None:
    for rank in range(2):
        sampler = distributed_sampler(range(101), 2, rank, drop_last=True)
        loader = torch_loader(range(101), batch_size=5, sampler=sampler, drop_last=drop_last)
        with record(loader, tmp_path / "run") as recorded:
            for epoch in range(4):
                sampler.set_epoch(epoch)
                list(recorded)
    result = check(tmp_path / "run")

    assert loud_rules(result) == []
    assert [finding.rule for finding in result.findings] == ["tail-handling"]


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


WEIGHTS = [9.0, *[1.0] * 9] * 6


def forty_epochs(run: Path, sampler: Sampler[int], seed: int = 3, **options: Any) -> Path:
    torch.manual_seed(seed)
    with record(torch_loader(range(60), batch_size=6, sampler=sampler), run, **options) as recorded:
        for epoch in range(40):
            if hasattr(sampler, "set_epoch"):
                sampler.set_epoch(epoch)
            list(recorded)
    return run


SAMPLERS: dict[str, Sampler[int]] = {
    "RandomSampler": RandomSampler(range(60)),
    "SequentialSampler": SequentialSampler(range(60)),
    "DistributedSampler": distributed_sampler(range(60), 1, 0),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_sampler_without_weights_in_the_place_of_one_with_them_is_named(
    name: str, tmp_path: Path
) -> None:
    a = forty_epochs(tmp_path / "weighted", WeightedRandomSampler(WEIGHTS, 60))
    declared = {"weights": WEIGHTS}
    b = forty_epochs(tmp_path / "plain", SAMPLERS[name])
    told = forty_epochs(tmp_path / "told", SAMPLERS[name], declared=declared)
    result = audit(a, b)

    assert loud_rules(result) == ["ignored-weights"]
    (finding,) = (finding for finding in result.findings if finding.rule == "ignored-weights")
    assert finding.cause == f"{name} took the place of WeightedRandomSampler, and reads no weights."
    assert finding.evidence["sampler"] == ["WeightedRandomSampler", name]
    assert "sampler" not in (result.reason or "")
    turned = audit(b, a)
    assert loud_rules(turned) == ["ignored-weights"]
    (finding,) = (finding for finding in turned.findings if finding.rule == "ignored-weights")
    assert finding.cause == f"The baseline was drawn by {name}, which reads no weights."
    # One order that comes again is evidence once: too little without a baseline.
    assert rules_of(told) == ([] if name == "SequentialSampler" else ["ignored-weights"])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (WeightedRandomSampler(WEIGHTS, 60), WeightedRandomSampler(WEIGHTS, 60)),
        (WeightedRandomSampler(WEIGHTS, 60), WeightedRandomSampler(WEIGHTS, 30)),
        (WeightedRandomSampler(WEIGHTS, 60), WeightedRandomSampler(WEIGHTS, 60, replacement=False)),
        (WeightedRandomSampler([2.0] * 60, 60), RandomSampler(range(60))),
        (RandomSampler(range(60)), RandomSampler(range(60))),
    ],
)
def test_samplers_that_read_their_weights_or_have_none_to_read_are_not_named(
    one: Sampler[int], other: Sampler[int], tmp_path: Path
) -> None:
    runs = forty_epochs(tmp_path / "a", one), forty_epochs(tmp_path / "b", other, seed=4)
    results = audit(*runs), audit(*reversed(runs)), *map(check, runs)

    assert not any("ignored-weights" in loud_rules(result) for result in results)


def test_draws_without_replacement_that_follow_their_weights_are_judged(tmp_path: Path) -> None:
    sampler = WeightedRandomSampler(WEIGHTS, 60, replacement=False)
    result = check(forty_epochs(tmp_path / "run", sampler))

    assert loud_rules(result) == []
    assert lacking(result, "ignored-weights") == []
