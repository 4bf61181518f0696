"""torchdata's loader with checkpoints: the same states, and rows that say they were resumed."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torchdata.stateful_dataloader import (
    StatefulDataLoader,
)

from detloader import audit, record
from detloader.errors import UsageError
from detloader.findings import Verdict
from tests.support.loaders import rows_of
from tests.support.torch_datasets import Counting, GlobalDraws, Own, Resumable
from tests.support.trees import assert_equal

# torchdata 0.11 calls what torch 2.13 has given up.
pytestmark = pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")

BUILDS: dict[str, Callable[[int], Any]] = {
    "map": lambda workers: StatefulDataLoader(
        GlobalDraws(9, python=False, numpy=False), batch_size=2, shuffle=True, num_workers=workers
    ),
    "iterable": lambda workers: StatefulDataLoader(Counting(9), batch_size=2, num_workers=workers),
    "own iterator": lambda workers: StatefulDataLoader(Own(9), batch_size=2, num_workers=workers),
    "resumable": lambda workers: StatefulDataLoader(
        Resumable(9), batch_size=2, num_workers=workers
    ),
}


def walk(loader: Any) -> list[Any]:
    torch.manual_seed(3)
    steps = [loader.state_dict()]
    for batch in loader:
        steps += [batch, copy.deepcopy(loader.state_dict())]
    return [*steps, torch.get_rng_state().tolist()]


@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.parametrize("workers", [0, 2])
def test_every_state_is_the_same(tmp_path: Path, name: str, workers: int) -> None:
    torch.manual_seed(5)
    expected = walk(BUILDS[name](workers))
    torch.manual_seed(5)
    with record(BUILDS[name](workers), tmp_path / "run") as twin:
        assert isinstance(twin, StatefulDataLoader)
        found = walk(twin)

    assert_equal(found, expected)


@pytest.mark.filterwarnings("ignore:Neither dataset nor iter")
@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.parametrize("workers", [0, 2])
def test_a_resumed_epoch_goes_on_where_it_stood(tmp_path: Path, name: str, workers: int) -> None:
    torch.manual_seed(5)
    with record(BUILDS[name](workers), tmp_path / "first") as twin:
        steps = iter(twin)
        next(steps)
        state = twin.state_dict()
        rest = list(steps)

    torch.manual_seed(5)
    with record(BUILDS[name](workers), tmp_path / "second") as twin:
        twin.load_state_dict(state)
        resumed = list(twin)
        again = list(twin)

    assert len(resumed) == len(rest)
    assert len(again) > len(rest)
    names = ("record", "epoch", "batch", "resumed")
    rows = rows_of(tmp_path / "second", *names)
    split = sum(row[-1] for row in rows)
    before = rows_of(tmp_path / "first", *names[:-1])
    assert [row[:-1] for row in rows[:split]] == before[-split:]
    assert all(row[-1] for row in rows[:split])
    assert {row[1] for row in rows[split:]} == {1}


def test_a_loader_whose_state_was_asked_for_has_begun(tmp_path: Path) -> None:
    loader = BUILDS["map"](0)
    loader.state_dict()

    with pytest.raises(UsageError, match="before its first iteration"):
        record(loader, tmp_path / "run")


def test_a_loader_that_took_up_a_checkpoint_is_recorded_from_there_on(tmp_path: Path) -> None:
    loader = BUILDS["map"](0)
    next(iter(loader))
    state = loader.state_dict()
    other = BUILDS["map"](0)
    other.load_state_dict(state)

    with record(other, tmp_path / "run") as twin:
        list(twin)

    assert rows_of(tmp_path / "run", "batch")[0] == 1


def state_amid(loader: Any, run: Path, *, epoch: int) -> Any:
    """Record a loader until the fifth batch of an epoch; returns its state there."""
    with record(loader, run) as twin:
        for _ in range(epoch):
            list(twin)
        steps = iter(twin)
        for _ in range(5):
            next(steps)
        return twin.state_dict()


@pytest.mark.parametrize("epochs", [1, 3])
def test_a_part_that_resumes_correctly_is_the_rest_of_the_whole_run(
    epochs: int, tmp_path: Path
) -> None:
    numbers: Any = range(50)

    def loader() -> Any:
        generator = torch.Generator().manual_seed(5)
        return StatefulDataLoader(
            numbers, batch_size=4, shuffle=True, generator=generator, num_workers=2
        )

    with record(loader(), tmp_path / "whole") as twin:
        for _ in range(epochs):
            list(twin)
    rest = loader()
    rest.load_state_dict(state_amid(loader(), tmp_path / "part", epoch=0))
    with record(rest, tmp_path / "rest", parent=tmp_path / "part") as twin:
        for _ in range(epochs):
            list(twin)
    result = audit(tmp_path / "whole", tmp_path / "rest")

    assert result.verdict is Verdict.IDENTICAL
    assert result.findings == []
    assert "goes on after the first 20 rows" in str(result.reason)


@pytest.mark.parametrize("declared", [{}, {"resume": {"position": 18, "unit": "batches"}}])
@pytest.mark.parametrize("shuffle", [True, False])
def test_a_part_of_a_later_epoch_is_the_rest_of_the_whole_run(
    shuffle: bool, declared: dict[str, Any], tmp_path: Path
) -> None:
    numbers: Any = range(50)

    def loader() -> Any:
        generator = torch.Generator().manual_seed(5)
        return StatefulDataLoader(numbers, batch_size=4, shuffle=shuffle, generator=generator)

    with record(loader(), tmp_path / "whole") as twin:
        for _ in range(2):
            list(twin)
    rest = loader()
    rest.load_state_dict(state_amid(loader(), tmp_path / "part", epoch=1))
    with record(rest, tmp_path / "rest", declared=declared) as twin:
        list(twin)
    result = audit(tmp_path / "whole", tmp_path / "rest")

    assert result.verdict is Verdict.IDENTICAL
    assert result.findings == []
    assert "goes on after the first 70 rows" in str(result.reason)
