"""Ranks, forks and ends of processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from detloader import open_run
from detloader.manifest.verify import verify_run

CHILD = Path(__file__).parents[1] / "support" / "recording.py"
WITHOUT = {"DETLOADER_RUN_ID", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "RANK", "SLURM_PROCID"}


def start(*arguments: object, **variables: str) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if name not in WITHOUT}
    return subprocess.Popen(
        [sys.executable, str(CHILD), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**kept, **variables},
    )


def finish(process: subprocess.Popen[str]) -> str:
    return process.communicate(timeout=250)[0].strip()


def records(run: Path) -> list[object]:
    return list(verify_run(run).streams["main"].table(["record"])["record"].to_pylist())


@pytest.mark.parametrize("how", ["end", "error"])
def test_the_end_of_the_interpreter_seals(tmp_path: Path, how: str) -> None:
    process = start("ending", tmp_path / "run", how)
    finish(process)

    assert (process.returncode == 0) == (how == "end")
    assert records(tmp_path / "run") == list(range(10))
    assert open_run(tmp_path / "run").streams["main"].ranks[0].header.state == "complete"
    assert open_run(tmp_path / "run").complete == (how == "end")  # an error leaves a part


def test_the_end_of_the_interpreter_seals_a_stream_too(tmp_path: Path) -> None:
    finish(start("ending_stream", tmp_path / "run"))

    assert len(records(tmp_path / "run")) == 8
    assert open_run(tmp_path / "run").complete


def test_the_end_of_a_forked_worker_seals(tmp_path: Path) -> None:
    finish(start("in_forked_worker", tmp_path / "run"))

    assert records(tmp_path / "run") == list(range(10))
    assert open_run(tmp_path / "run").complete


def test_a_process_that_just_leaves_stays_open(tmp_path: Path) -> None:
    finish(start("ending", tmp_path / "run", "abrupt"))

    assert not verify_run(tmp_path / "run").complete


@pytest.mark.parametrize("how", ["exit", "leave", "again"])
def test_a_forked_child_writes_nothing_and_the_parent_goes_on(tmp_path: Path, how: str) -> None:
    said = finish(start("forking", tmp_path / "run", how))

    assert records(tmp_path / "run") == list(range(1000))
    assert open_run(tmp_path / "run").complete
    assert said.split() == ["False", "True", *(["RunExistsError"] if how == "again" else [])]


def test_a_child_that_was_forked_while_rows_were_written_can_close(tmp_path: Path) -> None:
    assert finish(start("forking_while_rows_are_written", tmp_path / "run")) == "0"

    assert records(tmp_path / "run") == list(range(10))
    assert open_run(tmp_path / "run").complete


def test_a_forked_child_says_that_its_rows_are_lost(tmp_path: Path) -> None:
    _, said = start("forking", tmp_path / "run", "exit").communicate(timeout=250)

    assert said.count("not recorded: a forked child takes rows of") == 1


def test_ranks_side_by_side_are_one_run(tmp_path: Path) -> None:
    ranks = [
        start("one_rank", tmp_path / "run", RANK=str(rank), WORLD_SIZE="4") for rank in range(4)
    ]
    assert [finish(rank) for rank in ranks] == ["recorded"] * 4

    stream = verify_run(tmp_path / "run").streams["main"]
    assert [rank.header.rank for rank in stream.ranks] == [0, 1, 2, 3]
    assert len({rank.header.run_id for rank in stream.ranks}) == 1
    assert {rank.header.ranks for rank in stream.ranks} == {4}
    assert stream.table(["record"])["record"].to_pylist() == [
        0, 10, 20, 30, 1, 11, 21, 31, 2, 12, 22, 32
    ]  # fmt: skip
    assert stream.complete


def test_of_two_processes_on_one_rank_one_is_refused(tmp_path: Path) -> None:
    first = start("one_rank", tmp_path / "run")
    assert first.stdout is not None
    assert first.stdout.readline() == "recorded\n"

    refused = finish(start("one_rank", tmp_path / "run"))
    finish(first)

    assert refused.startswith("RunExistsError ")
    assert "is being recorded already" in refused
    assert records(tmp_path / "run") == [0, 1, 2]


@pytest.mark.parametrize("name", ["DETLOADER_RUN_ID", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID"])
def test_the_launchers_id_is_the_runs(tmp_path: Path, name: str) -> None:
    for rank in range(2):
        finish(start("one_rank", tmp_path / "run", **{name: "job-7", "RANK": str(rank)}))

    assert open_run(tmp_path / "run").run_id == "job-7"


def test_two_torchruns_without_an_id_are_two_runs(tmp_path: Path) -> None:
    job = {"TORCHELASTIC_RUN_ID": "none", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
    said = [
        finish(start("one_rank", tmp_path / "run", RANK=rank, MASTER_PORT=port, **job))
        for rank, port in (("0", "29500"), ("1", "29400"), ("1", "29500"))
    ]

    assert [each.split()[0] for each in said] == ["recorded", "RunExistsError", "recorded"]
    assert open_run(tmp_path / "run").complete


def test_our_own_variable_stands_above_the_launchers(tmp_path: Path) -> None:
    finish(start("one_rank", tmp_path / "run", DETLOADER_RUN_ID="mine", TORCHELASTIC_RUN_ID="none"))

    assert open_run(tmp_path / "run").run_id == "mine"


def test_a_rank_of_another_job_is_refused(tmp_path: Path) -> None:
    finish(start("one_rank", tmp_path / "run", DETLOADER_RUN_ID="a"))
    refused = finish(start("one_rank", tmp_path / "run", DETLOADER_RUN_ID="b", RANK="1"))

    assert refused.startswith("RunExistsError ")
    assert "holds run a, this is run b" in refused
    assert len(open_run(tmp_path / "run").streams["main"].ranks) == 1


def test_a_killed_rank_leaves_the_others_whole(tmp_path: Path) -> None:
    killed = start("one_rank", tmp_path / "run", RANK="0")
    assert killed.stdout is not None
    killed.stdout.readline()
    finish(start("one_rank", tmp_path / "run", RANK="1"))
    killed.send_signal(signal.SIGKILL)
    finish(killed)

    run = verify_run(tmp_path / "run")
    assert not run.complete
    assert run.fingerprint is None
    assert [rank.complete for rank in run.streams["main"].ranks] == [False, True]
    assert run.streams["main"].ranks[1].rows == 3
