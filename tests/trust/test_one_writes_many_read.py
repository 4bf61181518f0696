"""One process writes a rank; any number of them may read it meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from detloader.manifest.verify import verify_run
from tests.support.watching import FEW, ROWS

ROOT = Path(__file__).parents[2]


def start(program: str, run: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.support.watching", program, str(run)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )


def next_of(processes: list[subprocess.Popen[str]]) -> list[Any]:
    """Return what each says next."""
    lines = [process.stdout.readline() for process in processes if process.stdout is not None]
    return [*map(json.loads, lines)]


def answers(processes: list[subprocess.Popen[str]]) -> list[Any]:
    """Return what each says, all of them being there until the last has said it."""
    told = next_of(processes)
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    return told


def test_whoever_reads_while_a_run_grows_sees_one_prefix_after_another(tmp_path: Path) -> None:
    readers = [start("watch", tmp_path / "run") for _ in range(2)]
    assert next_of(readers) == ["watching"] * 2

    writer = start("write", tmp_path / "run")
    assert next_of(readers) == ["reading"] * 2
    assert writer.stdin is not None
    writer.stdin.write("\n")
    writer.stdin.flush()
    *seen, written = answers([*readers, writer])

    assert written == ROWS
    for rows in seen:
        assert rows == sorted(rows)
        assert rows[0] < rows[-1] == ROWS
        assert len(rows) > FEW
    assert verify_run(tmp_path / "run").complete


def test_of_many_recorders_of_one_rank_one_records(tmp_path: Path) -> None:
    told = answers([start("begin", tmp_path / "run") for _ in range(4)])

    assert told.count("recording") == 1
    assert sum("is being recorded already" in answer for answer in told) == 3
