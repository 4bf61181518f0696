"""A run says which seed its order came of, and which epochs it holds, however it came to them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from detloader import audit, check, open_run, record
from detloader.findings import Verdict
from detloader.hdf5.loader import Dataloader
from detloader.hdf5.order.epochs import epoch_seed
from tests.support.hdf5_files import load, write
from tests.support.loaders import rows_of

SEED = 7


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("seeds"), 7, 7, 7)


def header(run: Path) -> Any:
    return open_run(run).streams["main"].ranks[0].header


def seeds(run: Path) -> tuple[Any, Any, list[int]]:
    found = header(run)
    return found.declared.seed, found.declared.seed_used, found.seen.seeds


def shuffled(loader: Dataloader, *, epochs: int) -> None:
    loader.shuffle(5)
    for _ in range(epochs):
        list(loader)


def test_the_order_of_the_loaders_seed_is_told_as_that(folder: Path, tmp_path: Path) -> None:
    with record(load(folder, seed=SEED), tmp_path / "r") as loader:
        list(loader)

    assert seeds(tmp_path / "r") == (SEED, SEED, [epoch_seed(SEED, 0)])


@pytest.mark.parametrize("after", [False, True])
def test_the_order_of_a_seed_of_shuffle_is_told_as_that(
    folder: Path, tmp_path: Path, after: bool
) -> None:
    loader = load(folder, seed=SEED)
    if not after:
        loader.shuffle(5)
    with record(loader, tmp_path / "r") as twin:
        if after:
            twin.shuffle(5)
        list(twin)

    assert seeds(tmp_path / "r") == (5, 5, [5])
    assert header(tmp_path / "r").declared.config["seed"] == SEED
    assert check(tmp_path / "r").findings == []


@pytest.mark.parametrize(("seed", "given"), [(SEED, "7, 5"), (None, None)])
def test_a_seed_that_changed_in_the_run_stands_beside_the_one_before(
    folder: Path, tmp_path: Path, seed: int | None, given: str | None
) -> None:
    with record(load(folder, seed=seed), tmp_path / "r") as loader:
        list(loader)
        shuffled(loader, epochs=2)
        own = loader.seed

    orders = [epoch_seed(own, 0), 5, epoch_seed(own, 2)]
    assert seeds(tmp_path / "r") == (given, f"{own}, 5", orders)


def test_what_the_user_declared_of_seeds_stays(folder: Path, tmp_path: Path) -> None:
    with record(load(folder, seed=SEED), tmp_path / "r", declared={"seed": "mine"}) as loader:
        shuffled(loader, epochs=1)

    assert seeds(tmp_path / "r") == ("mine", 5, [5])


def test_shuffle_changes_nothing_that_is_told_where_nothing_is_shuffled(
    folder: Path, tmp_path: Path
) -> None:
    with record(load(folder, seed=SEED, shuffle=False), tmp_path / "r") as loader:
        shuffled(loader, epochs=1)

    assert seeds(tmp_path / "r") == (SEED, SEED, [])


def test_a_part_that_goes_on_tells_the_seed_of_the_shuffle_before(
    folder: Path, tmp_path: Path
) -> None:
    loader = load(folder, seed=SEED)
    loader.shuffle(5)
    steps = iter(loader)
    next(steps)
    with record(load(folder, seed=SEED), tmp_path / "r") as twin:
        taken_up = iter(twin)
        taken_up.set_state(steps.get_state())
        list(taken_up)

    assert seeds(tmp_path / "r") == (5, 5, [5])


def test_an_audit_blames_the_seed_of_shuffle(folder: Path, tmp_path: Path) -> None:
    for name, seed in (("a", None), ("b", 5)):
        loader = load(folder, seed=SEED)
        if seed is not None:
            loader.shuffle(seed)
        with record(loader, tmp_path / name) as twin:
            list(twin)

    (finding,) = audit(tmp_path / "a", tmp_path / "b").findings
    assert finding.evidence["used"] == [SEED, 5]


def looked_at(loader: Dataloader) -> None:
    next(iter(loader))


def later(loader: Dataloader) -> None:
    loader.set_epoch(3)


@pytest.mark.parametrize(("before", "first"), [(looked_at, 1), (later, 3)])
def test_epochs_are_told_by_their_own_numbers(
    folder: Path, tmp_path: Path, before: Callable[[Dataloader], None], first: int
) -> None:
    loader = load(folder, seed=SEED)
    before(loader)
    with record(loader, tmp_path / "r") as twin:
        for _ in range(2):
            list(twin)

    assert set(rows_of(tmp_path / "r", "epoch")) == {first, first + 1}
    wanted = [epoch_seed(SEED, number) for number in (first, first + 1)]
    assert header(tmp_path / "r").seen.epochs == 2
    assert seeds(tmp_path / "r") == (SEED, SEED, wanted)


def recorded(loader: Any, run: Path) -> Path:
    with record(loader, run) as twin:
        list(twin)
    return run


def test_a_stream_in_the_order_of_no_epoch_says_so(folder: Path, tmp_path: Path) -> None:
    epoch = recorded(load(folder, seed=SEED), tmp_path / "epoch")
    stream = recorded(load(folder, seed=SEED).to_iter_dataset(), tmp_path / "stream")

    assert seeds(stream) == (SEED, SEED, [SEED])
    assert header(stream).declared.config["order_seed"] == SEED
    assert "order_seed" in str(audit(epoch, stream))


@pytest.mark.parametrize("epoch", [0, 2])
def test_a_stream_of_an_epoch_that_was_set_is_that_epoch(
    folder: Path, tmp_path: Path, epoch: int
) -> None:
    loaders = [load(folder, seed=SEED) for _ in range(2)]
    for loader in loaders:
        loader.set_epoch(epoch)
    whole = recorded(loaders[0], tmp_path / "epoch")
    stream = recorded(loaders[1].to_iter_dataset(), tmp_path / "stream")

    assert audit(whole, stream).verdict is Verdict.IDENTICAL
    assert "order_seed" not in header(stream).declared.config
