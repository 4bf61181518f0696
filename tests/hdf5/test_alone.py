"""One row of a Dataloader made again alone: the same draws, the same bytes, at any place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from detloader import open_run, record
from detloader.adapters import find_alone
from detloader.audits.replay.spot_check import spot_check
from detloader.cli import commands
from detloader.errors import UsageError
from detloader.hdf5.order.epochs import Epochs
from tests.support import hdf5_factories
from tests.support.hdf5_files import load, numbered, write_file

MODULE = "tests.support.hdf5_factories"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with two files of seven frames of 5 by 5."""
    for number in range(2):
        write_file(tmp_path / "files" / f"f_{number}.hdf5", numbered(7, 100 * number, (5, 5)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(commands(), [*arguments])


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"batch_size": None},
        {"augmentation": None},
        {"image_size": None, "resize_type": None},
        {"dataset_repetitions": 2, "drop_remainder": True},
        {"num_shards": 2, "shard_index": 1, "shard_remainder": "pad", "n_frames": 2},
        {"shuffle": False, "return_filename": True},
        {"reshuffle_each_epoch": False, "convert_to_tensor": True},
    ],
    ids=lambda given: ", ".join(given) or "as it is",
)
def test_each_row_made_alone_is_the_row_of_the_run(folder: Path, arguments: dict[str, Any]) -> None:
    loader = hdf5_factories.cropped(**arguments)
    with record(loader, "run") as twin:
        for _ in twin:
            pass

    count, otherwise = spot_check(loader, open_run("run"), 1.0)

    assert count == open_run("run").rows >= 3
    assert otherwise == []


def test_the_epoch_that_was_iterated_last_is_the_one_that_is_meant(folder: Path) -> None:
    loader = hdf5_factories.cropped()
    list(loader)
    with record(loader, "run") as twin:
        for _ in twin:
            pass

    assert spot_check(loader, open_run("run"), 1.0) == (14, [])


def test_of_a_loader_that_was_not_iterated_the_next_epoch_is_meant(folder: Path) -> None:
    with record(hdf5_factories.cropped(), "run") as twin:
        twin.set_epoch(5)
        for _ in twin:
            pass
    fresh = hdf5_factories.cropped()
    fresh.set_epoch(5)

    assert spot_check(fresh, open_run("run"), 1.0) == (14, [])


def test_draws_of_crop_and_augmentation_are_listed_in_order(folder: Path) -> None:
    made = find_alone(loader := hdf5_factories.cropped())(loader, 6)

    assert [draw.method for draw in made.draws] == ["integers", "integers", "normal", "random"]
    assert made.draws[0].arguments == "4"
    assert made.taken == 2 + 2 + 4


def test_a_row_beyond_the_epoch_is_refused(folder: Path) -> None:
    loader = load("files")

    with pytest.raises(UsageError, match="row 16 is beyond the first epoch"):
        find_alone(loader)(loader, 16)


@pytest.mark.parametrize("factory", ["cropped", "stream"])
def test_record_verifies_and_show_replays(factory: str, folder: Path) -> None:
    recorded = invoke("record", f"{MODULE}:{factory}", "-o", "run", "--verify", "1")
    first = str(open_run("run").streams["main"].table(["record"])["record"][0])
    shown = invoke("show", "run", "--record", first, "--replay")

    assert recorded.exit_code == 0, recorded.output
    assert "14 records made again alone: as recorded" in recorded.output
    assert "integers(4)" in shown.output
    assert "normal()" in shown.output
    assert shown.output.count(", as recorded") == 2


def test_an_augmentation_that_keeps_a_state_is_found(folder: Path) -> None:
    done = invoke("record", f"{MODULE}:counting", "-o", "run", "--verify", "1")

    assert done.exit_code == 1
    assert "the transform or the source keeps a state" in " ".join(done.output.split())


@given(st.integers(0, 2**64), st.booleans(), st.integers(0, 2**20))
def test_the_epoch_that_began_is_known_until_the_next(seed: int, reshuffle: bool, to: int) -> None:
    epochs = Epochs(seed, reshuffle=reshuffle, compatibility=None)
    epochs.set_next(to)
    assert epochs.latest() == epochs.show()
    began = epochs.begin()
    epochs.reshuffle(3)

    assert epochs.latest() == began
