"""A program that keeps many loaders, such as one for each client that it simulates."""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grain
import pytest

from detloader import record, record_all
from detloader.errors import RunExistsError
from detloader.manifest.verify import verify_run
from tests.support.blocks import fit, loader
from tests.support.loaders import writing_threads

MANY = 50


def open_files() -> Counter[tuple[int, int]]:
    """Return which files are open, and how often; what else ends meanwhile may close its own."""
    found: Counter[tuple[int, int]] = Counter()
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 - a path would be read as a link
        with contextlib.suppress(OSError):  # that of the listing is closed by now
            status = os.fstat(int(name))
            found[status.st_dev, status.st_ino] += 1
    return found


@pytest.mark.usefixtures("no_other_recorder")
@pytest.mark.parametrize("make", [loader, lambda: grain.MapDataset.range(8)])
def test_loaders_that_are_kept_cost_one_open_file_and_one_thread_all_together(
    make: Callable[[], Any], tmp_path: Path
) -> None:
    clients = [make() for _ in range(MANY)]
    with record_all(tmp_path / "warm"):
        fit(make())
    gc.collect()
    files = open_files()
    with record_all(tmp_path / "run"):
        for client in clients * 2:
            fit(client)
        # The lock, and what the thread may be writing just now.
        assert (open_files() - files).total() <= 4
        assert writing_threads() == 1
    run = verify_run(tmp_path / "run")

    assert (len(run.streams), run.rows, run.complete) == (MANY, 2 * 8 * MANY, True)
    assert (open_files() - files, writing_threads()) == (Counter(), 0)


@pytest.mark.usefixtures("no_other_recorder")
def test_loaders_that_come_and_go_each_have_the_thread(tmp_path: Path) -> None:
    for number in range(3):
        with record(range(4), tmp_path / f"{number}") as first:
            fit(first)
            with record(range(4), tmp_path / f"{number}", stream="second") as second:
                fit(second)

        assert verify_run(tmp_path / f"{number}").rows == 8
        assert writing_threads() == 0


def test_each_folder_is_held_until_its_own_loader_is_done(tmp_path: Path) -> None:
    first, second, third = (
        record(range(4), tmp_path / run, stream=stream)
        for run, stream in (("a", "main"), ("a", "second"), ("b", "main"))
    )
    for twin in (first, second, third):
        list(twin)
    first.close()

    with pytest.raises(RunExistsError, match="holds a run already"):
        record(range(4), tmp_path / "a")
    for run, stream in (("a", "second"), ("b", "main")):
        with pytest.raises(RunExistsError, match="is being recorded already"):
            record(range(4), tmp_path / run, stream=stream)
    second.close()
    third.close()
    assert verify_run(tmp_path / "a").rows + verify_run(tmp_path / "b").rows == 12


def test_a_run_that_is_removed_meanwhile_holds_up_no_other(tmp_path: Path) -> None:
    with record(range(4), tmp_path / "removed"):
        shutil.rmtree(tmp_path / "removed")
        with record(range(4), tmp_path / "run") as twin:
            list(twin)

    assert verify_run(tmp_path / "run").rows == 4
