"""Batches, data sets and workers of every kind: the loop never feels that it is watched."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset

from detloader import open_run, record
from detloader.errors import UsageError
from tests.support.loaders import rows_of
from tests.support.torch_datasets import (
    Counting,
    Failing,
    GlobalDraws,
    RepeatedLoader,
    torch_loader,
)


@dataclasses.dataclass
class Unknown:
    """An object that has no bytes of its own."""

    number: int


SAMPLES: dict[str, list[Any]] = {
    "dicts": [{"x": torch.ones(2), "deep": {"y": (1, [2.0])}} for _ in range(4)],
    "ragged": [torch.ones(size) for size in range(4)],
    "text": ["a", "b\0", "", "ä"],
    "objects": [Unknown(number) for number in range(4)],
    "nothing": [None] * 4,
    "half floats": [torch.ones(2, dtype=torch.bfloat16) * i for i in range(4)],
    "tensors with gradients": [torch.ones(2, requires_grad=True) for _ in range(4)],
    "sparse": [torch.eye(2).to_sparse() for _ in range(4)],
    "empty": [torch.empty(0, 3)] * 4,
}


@pytest.mark.parametrize("name", SAMPLES)
def test_batches_of_every_kind_come_as_they_are(tmp_path: Path, name: str) -> None:
    samples = SAMPLES[name]
    loader = torch_loader(samples, batch_size=3, collate_fn=list)

    with record(loader, tmp_path / "run") as twin:
        found = [sample for batch in twin for sample in batch]

    assert all(one is other for one, other in zip(found, samples, strict=True))
    contents = rows_of(tmp_path / "run", "content")
    undigestible = name in {"objects", "sparse"}
    assert [content is None for content in contents] == [undigestible] * 4
    assert rows_of(tmp_path / "run", "record") == [0, 1, 2, 3]


class Objects(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return iter([Unknown(1), Unknown(2)])


@pytest.mark.parametrize("workers", [0, 1])
def test_samples_without_ids_and_content_are_lost_and_not_the_loop(
    tmp_path: Path, workers: int
) -> None:
    loader = torch_loader(Objects(), batch_size=1, num_workers=workers, collate_fn=list)

    with record(loader, tmp_path / "run") as twin:
        assert len(list(twin)) == 2

    run = open_run(tmp_path / "run")
    assert not run.complete
    assert run.streams["main"].ranks[0].header.seen.lost == 2


@pytest.mark.parametrize(
    "ids",
    ["missing", lambda sample: sample["no"], lambda sample: 1.5, lambda sample: None],
    ids=["no such key", "fails", "a fraction", "nothing"],
)
def test_ids_that_cannot_be_found_lose_rows_and_not_the_loop(tmp_path: Path, ids: Any) -> None:
    with record(torch_loader(Counting(4), batch_size=2), tmp_path / "run", ids=ids) as twin:
        assert len(list(twin)) == 2

    assert not open_run(tmp_path / "run").complete


def test_an_error_of_the_data_set_is_raised_as_it_is_and_the_loop_may_go_on(
    tmp_path: Path,
) -> None:
    for workers in (0, 2):
        loader = torch_loader(Failing(8), batch_size=2, num_workers=workers)
        with record(loader, tmp_path / f"run-{workers}") as twin:
            steps = iter(twin)
            delivered = [next(steps)]
            with pytest.raises(KeyError, match="three"):
                next(steps)
            delivered += list(steps)

        assert [batch.tolist() for batch in delivered] == [[0, 1], [4, 5], [6, 7]]
        assert rows_of(tmp_path / f"run-{workers}", "record") == [0, 1, 4, 5, 6, 7]


DYING = """
import sys
from torch.utils.data import DataLoader
from detloader import record
from tests.support.torch_datasets import Dying
loader = DataLoader(Dying(60), batch_size=2, num_workers=2, collate_fn=list)
with record(loader, sys.argv[1]) as twin:
    for batch in twin:
        print(*batch, flush=True)
"""


def test_a_worker_that_dies_is_told_by_torch_and_leaves_what_came_before(tmp_path: Path) -> None:
    # In a program of its own, for Torch raises what it finds in the middle of anything; and
    # without tensors, for those of a dead worker cannot be fetched, which is another error.
    program = [sys.executable, "-c", DYING, str(tmp_path / "run")]
    done = subprocess.run(program, check=False, capture_output=True, text=True)

    assert done.returncode == 1, done.stderr
    assert "worker (pid" in done.stderr
    run = open_run(tmp_path / "run")
    assert not run.complete
    delivered = [int(number) for number in done.stdout.split()]
    # Torch's error comes at any moment: between a batch's row and its line, or while the run is
    # sealed, when the last moment's rows are lost.
    assert run.rows <= len(delivered) + 2
    assert not run.rows or rows_of(tmp_path / "run", "record") == list(range(run.rows))
    assert delivered == list(range(len(delivered)))


@pytest.mark.parametrize("persistent", [False, True])
def test_one_loader_can_be_recorded_into_two_runs_at_once(tmp_path: Path, persistent: bool) -> None:
    loader = torch_loader(
        GlobalDraws(6), batch_size=2, num_workers=1, persistent_workers=persistent
    )
    with record(loader, tmp_path / "one") as one, record(loader, tmp_path / "other") as other:
        pairs = list(zip(one, other, strict=True))
        list(one)

    assert len(pairs) == 3
    assert rows_of(tmp_path / "one", "record") == [*range(6), *range(6)]
    assert rows_of(tmp_path / "other", "record") == [*range(6)]


def test_one_loader_in_one_run_goes_on_with_it(tmp_path: Path) -> None:
    loader = torch_loader(range(3))
    for _ in range(2):
        for _ in record(loader, tmp_path / "run"):
            pass
    record(loader, tmp_path / "run").close()

    assert rows_of(tmp_path / "run", "epoch") == [0, 0, 0, 1, 1, 1]


def test_two_iterators_at_once_are_two_epochs(tmp_path: Path) -> None:
    with record(torch_loader(range(3)), tmp_path / "run") as twin:
        assert list(zip(twin, twin, strict=True)) == [(i, i) for i in range(3)]

    rows = rows_of(tmp_path / "run", "record", "epoch")
    assert rows == [(number, epoch) for number in range(3) for epoch in range(2)]


def test_a_loader_that_has_begun_is_refused(tmp_path: Path) -> None:
    persistent = torch_loader(GlobalDraws(4), num_workers=1, persistent_workers=True)
    next(iter(persistent))
    for loader in (persistent, RepeatedLoader(range(4))):
        with pytest.raises(UsageError, match="before its first iteration"):
            record(loader, tmp_path / "run")


def test_a_recorded_loader_is_not_recorded_again(tmp_path: Path) -> None:
    with (
        record(torch_loader(range(3)), tmp_path / "run") as twin,
        pytest.raises(UsageError, match="recorded already"),
    ):
        record(twin, tmp_path / "other")


def test_indices_of_an_iterable_data_set_have_no_ids(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no indices"):
        record(torch_loader(Counting(3)), tmp_path / "run", ids=[1, 2, 3])


@pytest.mark.parametrize("options", [{"batch_size": 2}, {"batch_size": None, "sampler": [[0, 1]]}])
def test_batches_of_the_loader_are_not_said_to_be_none(
    options: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="batched=False, but"):
        record(torch_loader(torch.arange(4), **options), tmp_path / "run", batched=False)


def test_a_class_of_the_users_own_sees_its_batches_alone(tmp_path: Path) -> None:
    class Doubling(DataLoader[Any]):
        def __iter__(self) -> Any:
            for batch in super().__iter__():
                yield batch * 2

    numbers: Any = range(4)
    with record(Doubling(numbers, batch_size=2), tmp_path / "run") as twin:
        assert isinstance(twin, Doubling)
        assert [batch.tolist() for batch in twin] == [[0, 2], [4, 6]]

    assert rows_of(tmp_path / "run", "record") == [0, 1, 2, 3]


def test_a_trainer_may_make_another_loader_of_the_twins_class(tmp_path: Path) -> None:
    with record(torch_loader(range(4), batch_size=2), tmp_path / "run") as twin:
        other = type(twin)(range(4), batch_size=4)
        assert [batch.tolist() for batch in other] == [[0, 1, 2, 3]]
        other.close()

    assert open_run(tmp_path / "run").rows == 0


def test_the_twin_is_a_loader_with_the_loaders_attributes(tmp_path: Path) -> None:
    loader = torch_loader(GlobalDraws(5), batch_size=2, shuffle=True)
    with record(loader, tmp_path / "run") as twin:
        assert isinstance(twin, DataLoader)
        assert len(twin) == 3
        for name in ("dataset", "sampler", "batch_sampler", "generator", "collate_fn"):
            assert getattr(twin, name) is getattr(loader, name)
        with pytest.raises(ValueError, match="should not be set"):
            twin.batch_size = 4
