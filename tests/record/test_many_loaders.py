"""A program that keeps many loaders, such as one for each client that it simulates."""

from __future__ import annotations

import contextlib
import gc
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grain
import pytest

from detloader import record, record_all
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
def test_a_loader_that_is_kept_costs_its_lock_and_all_together_a_thread(
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
        assert (open_files() - files).total() <= MANY
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
