"""A program that keeps many loaders, such as one for each client that it simulates."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grain
import pytest

from detloader import record, record_all
from detloader.manifest.verify import verify_run
from tests.support.blocks import fit, loader

MANY = 50


def count_files() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


@pytest.mark.usefixtures("no_other_recorder")
@pytest.mark.parametrize("make", [loader, lambda: grain.MapDataset.range(8)])
def test_a_loader_that_is_kept_costs_its_lock_and_all_together_a_thread(
    make: Callable[[], Any], tmp_path: Path
) -> None:
    clients = [make() for _ in range(MANY)]
    with record_all(tmp_path / "warm"):
        fit(make())
    gc.collect()
    files, threads = count_files(), threading.active_count()
    with record_all(tmp_path / "run"):
        for client in clients * 2:
            fit(client)
        assert count_files() <= files + MANY
        assert threading.active_count() == threads + 1
    run = verify_run(tmp_path / "run")

    assert (len(run.streams), run.rows, run.complete) == (MANY, 2 * 8 * MANY, True)
    assert (count_files(), threading.active_count()) == (files, threads)


@pytest.mark.usefixtures("no_other_recorder")
def test_loaders_that_come_and_go_each_have_the_thread(tmp_path: Path) -> None:
    for number in range(3):
        with record(range(4), tmp_path / f"{number}") as first:
            fit(first)
            with record(range(4), tmp_path / f"{number}", stream="second") as second:
                fit(second)

        assert verify_run(tmp_path / f"{number}").rows == 8
        assert "detloader-recorder" not in {thread.name for thread in threading.enumerate()}
