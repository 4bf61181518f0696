"""A disk that fills or fails costs rows that are counted, and never the training."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from detloader import open_run, record
from detloader.errors import RunNotFoundError, UsageError
from detloader.manifest.reader import Run
from detloader.manifest.verify import verify_run
from tests.support.disks import small_disk

ROOT = Path(__file__).parents[2]
COUNT = 8000


def said(*arguments: object, python: list[str] | None = None) -> Any:
    """Return what a program said on its output, and on its log."""
    command = [*(python or [sys.executable]), "-m", "tests.support.disks", *map(str, arguments)]
    found = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return json.loads(found.stdout), found.stderr


def records(run: Run) -> list[int]:
    if not run.rows:
        return []
    return [*map(int, run.streams["main"].table(["record"])["record"].to_numpy())]


@pytest.mark.parametrize("kilobytes", [24, 160])
def test_a_full_disk_costs_rows_and_the_run_says_so(tmp_path: Path, kilobytes: int) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, 1024 * kilobytes) as python:
        delivered, log = said("filling", disk / "run", COUNT, python=python)
        run = verify_run(disk / "run")
        found = records(run)

    (rank,) = run.streams["main"].ranks
    lost = rank.header.seen.lost
    assert delivered
    assert found == list(range(run.rows))
    assert not run.complete
    assert run.rows + lost == COUNT
    assert "records no further rows" in log or "stays open" in log


def test_a_disk_that_cannot_promise_leaves_an_open_run_with_every_row(tmp_path: Path) -> None:
    delivered, log = said("failing", tmp_path / "run")

    run = open_run(tmp_path / "run")
    assert delivered
    assert records(run) == list(range(100))
    assert not run.complete
    assert "stays open, it could not be sealed: [Errno 5] Input/output error" in log


def test_a_folder_made_read_only_leaves_an_open_run_with_every_row() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        delivered, log = said("protected", f"{folder}/run")

        run = open_run(f"{folder}/run")
        assert delivered
        assert records(run) == list(range(100))
        assert not run.complete
        assert "stays open, it could not be sealed: [Errno 13] Permission denied" in log


def test_a_folder_that_is_removed_costs_the_run_and_not_the_training(tmp_path: Path) -> None:
    delivered, log = said("removed", tmp_path / "run")

    assert delivered
    assert "stays open, it could not be sealed" in log
    with pytest.raises(RunNotFoundError):
        open_run(tmp_path / "run")


def test_whoever_asks_is_told_by_an_error_in_the_loop_whatever_the_loader(tmp_path: Path) -> None:
    raised, _ = said("raising", tmp_path)

    assert len(raised) > 10
    for name, message in raised.items():
        assert "does not hold all that was delivered" in message, name
        assert "File too large" in message, name
        run = open_run(tmp_path / name)
        assert run.streams["main"].lost > 0
        assert not run.complete


def test_whoever_asks_is_told_that_a_run_could_not_be_sealed(tmp_path: Path) -> None:
    message, _ = said("failing_loudly", tmp_path / "run")

    assert message.startswith(f"{tmp_path / 'run'}/main/rank-00000 does not hold all")
    assert "Input/output error" in message


def test_what_to_do_at_a_loss_has_two_names(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="on_loss 'warn' is neither 'count' nor 'raise'"):
        record([1], tmp_path / "run", on_loss="warn")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
