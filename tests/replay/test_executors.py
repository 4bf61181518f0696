"""Replays and ranges on other processes: those of this machine, and a real Dask cluster."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from detloader.audits.replay import replay
from detloader.audits.replay.executors import executor_named
from detloader.audits.replay.recompute import recompute_records
from detloader.errors import UsageError
from detloader.findings import AxisOutcome, Verdict

Recorded = Callable[..., Path]


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """A scheduler and two workers on the loopback device; gives the scheduler's address."""
    with contextlib.ExitStack() as stack:

        def start(*words: str, log: int) -> subprocess.Popen[str]:
            command = [sys.executable, "-m", "dask", *words, "--host", "127.0.0.1"]
            process = subprocess.Popen(command, cwd=folder, stderr=log, text=True)
            stack.enter_context(process)
            stack.callback(process.terminate)
            return process

        scheduler = start("scheduler", "--port", "0", "--no-dashboard", log=subprocess.PIPE)
        assert scheduler.stderr is not None
        lines = (re.search(r"Scheduler at: +tcp://(\S+)", line) for line in scheduler.stderr)
        address = next(found[1] for found in lines if found)
        for _ in range(2):
            options = ("--no-nanny", "--nthreads", "1", "--no-dashboard")
            start("worker", f"tcp://{address}", *options, log=subprocess.DEVNULL)
        yield address


def check(run: Path, stream: Path, executor: str) -> None:
    with executor_named(executor) as chosen:
        result = replay(run, vary=["workers=2"], executor=chosen, budget=3)
        again = recompute_records(stream, executor=chosen)
    outcomes = [one.outcome for one in result.axes]

    assert outcomes == [AxisOutcome.BROKEN]
    assert result.findings[0].rule == "workers"
    assert again.verdict is Verdict.IDENTICAL


@pytest.fixture
def stream(folder: Path) -> Path:
    from detloader.recipe import build_loader
    from detloader.recording import record

    loader, recipe = build_loader("tests.support.replay_streams:stream", {"num_epochs": 1})
    with record(loader, folder / "stream", recipe=recipe) as twin:
        for _ in twin:
            pass
    return folder / "stream"


def test_spawned_processes_replay_and_compare(recorded: Recorded, stream: Path) -> None:
    check(recorded("workers"), stream, "processes:2")


def test_a_dask_cluster_replays_and_compares(
    recorded: Recorded, stream: Path, folder: Path
) -> None:
    with cluster(folder) as address:
        check(recorded("workers"), stream, f"dask://{address}")


@pytest.mark.parametrize("name", ["threads:2", "processes:", "processes:0", "processes:two", "2"])
def test_an_executor_that_does_not_exist_is_refused(name: str) -> None:
    with (
        pytest.raises(UsageError, match="name processes:N or dask://HOST:PORT"),
        executor_named(name),
    ):
        pass
