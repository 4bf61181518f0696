"""Recorded programs that a launcher starts, or that start one: whose run each rank is of."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from detloader import check, open_run
from detloader.manifest.verify import verify_run
from tests.support.programs import record_program, write_program

TEXT = """
    import os
    from torch.utils.data import DistributedSampler
    if sys.argv[1:]:
        print("begun", flush=True), input()
    rank, ranks = (int(os.environ.get(*told)) for told in (("RANK", 0), ("WORLD_SIZE", 1)))
    sampler = DistributedSampler(data, num_replicas=ranks, rank=rank, shuffle=False)
    for _ in DataLoader(data, batch_size=2, sampler=sampler):
        pass
    """


@contextmanager
def begun(folder: Path, *command: object) -> Iterator[subprocess.Popen[str]]:
    """Record a program that has begun, and waits for a line before it iterates."""
    recording = [sys.executable, "-m", "detloader", "record", "-o", "run", "--"]
    with subprocess.Popen(
        [*recording, *map(str, command), "wait"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        yield process


def ranks(run: Path) -> list[int]:
    """Return the ranks of a run of one stream, all of which are whole and of one run."""
    (stream,) = verify_run(run).streams.values()
    assert stream.complete
    assert len({rank.header.run_id for rank in stream.ranks}) == 1
    return [rank.header.rank for rank in stream.ranks]


@pytest.mark.parametrize("job", [{"SLURM_JOB_ID": "77"}, {}])
def test_ranks_that_are_each_recorded_are_one_run(job: dict[str, str], tmp_path: Path) -> None:
    program = write_program(tmp_path, TEXT)
    for rank in "01":
        environment = {**os.environ, **job, "RANK": rank, "WORLD_SIZE": "2"}
        done = record_program(tmp_path, sys.executable, program, env=environment)
        assert (done.returncode, done.stderr) == (0, "")

    assert ranks(tmp_path / "run") == [0, 1]
    assert job.get("SLURM_JOB_ID") in (None, open_run(tmp_path / "run").run_id)


def test_a_rank_is_not_recorded_over_itself(tmp_path: Path) -> None:
    program = write_program(tmp_path, TEXT)
    environment = {**os.environ, "RANK": "0", "WORLD_SIZE": "1"}
    first, again = (
        record_program(tmp_path, sys.executable, program, env=environment) for _ in range(2)
    )

    assert (first.returncode, again.returncode) == (0, 2)
    assert again.stderr.startswith("detloader: run exists: ")


def test_ranks_that_are_started_again_have_streams_of_their_own(tmp_path: Path) -> None:
    program = write_program(tmp_path, TEXT)
    for restarts, rank in (("0", "1"), ("1", "0"), ("1", "1")):  # rank 0 failed at first
        environment = {
            **os.environ,
            "RANK": rank,
            "WORLD_SIZE": "2",
            "TORCHELASTIC_RESTART_COUNT": restarts,
        }
        done = record_program(tmp_path, sys.executable, program, env=environment)
        assert (done.returncode, done.stderr) == (0, "")
    first, second = open_run(tmp_path / "run").streams.values()

    assert second.name == f"{first.name}+restart1"
    assert [[rank.header.rank for rank in stream.ranks] for stream in (first, second)] == [
        [1],
        [0, 1],
    ]
    assert (first.complete, second.complete) == (False, True)
    assert not check(tmp_path / "run").findings


def test_launchers_on_two_nodes_make_one_run(tmp_path: Path) -> None:
    program = write_program(tmp_path, TEXT)
    nodes = [
        ["env", f"RANK={rank}", "WORLD_SIZE=2", "TORCHELASTIC_RUN_ID=none", sys.executable, program]
        for rank in range(2)
    ]
    with begun(tmp_path, *nodes[0]) as first, begun(tmp_path, *nodes[1]) as second:
        said = [node.communicate("\n", timeout=250) for node in (first, second)]

    assert said == [("", "")] * 2
    assert ranks(tmp_path / "run") == [0, 1]


def test_two_programs_are_not_one_run(tmp_path: Path) -> None:
    program = write_program(tmp_path, TEXT)
    with (
        begun(tmp_path, sys.executable, program) as first,
        begun(tmp_path, sys.executable, program) as second,
    ):
        first.communicate("\n", timeout=250)
        _, said = second.communicate("\n", timeout=250)

    assert second.returncode == 0
    assert said.startswith(f"not recorded: {tmp_path / 'run'} holds run ")
    assert said.count("\n") == 1
    assert ranks(tmp_path / "run") == [0]
