"""A recorder that is killed, at any moment, leaves an exact prefix that says that it is one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from detloader import open_run
from detloader.errors import DamageError, RunNotFoundError
from detloader.manifest.reader import Run
from detloader.manifest.verify import verify_run
from tests.support.recording import grain_stream

ROOT = Path(__file__).parents[2]
SECOND = 1000
"""Rows of a second, of a recorder that delivers one in each millisecond or more seldom."""


class Killed(NamedTuple):
    """A recorder that was killed: where it recorded, and how far it had come."""

    run: Path
    rows: int
    step: int


def killed(
    program: str, folder: Path, *, trials: int, at_once: int, steps: int
) -> Iterator[Killed]:
    """Kill so many recorders, each a moment after a random one of its first steps."""
    folder.mkdir()
    arguments = [program, str(folder), *map(str, (trials, at_once, steps))]
    command = [sys.executable, "-m", "tests.support.killed", *arguments]
    answers = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, cwd=ROOT)
    for line in answers.stdout.splitlines():
        answer = json.loads(line)
        assert answer["killed"]
        yield Killed(Path(answer["run"]), answer["rows"], answer["step"])


def opened(run: Path) -> Run | None:
    """Open and verify a run; None where its recorder died before there was one."""
    if not (run / "main" / "rank-00000" / "manifest.json").exists():
        with pytest.raises((RunNotFoundError, DamageError)):
            open_run(run)
        return None
    return verify_run(run)


def records(run: Run) -> list[int]:
    return [*map(int, run.streams["main"].table(["record"])["record"].to_numpy())]


@pytest.mark.parametrize(("program", "steps"), [("iterable", 1300), ("stream", 320)])
def test_a_kill_costs_less_than_the_rows_of_a_second(
    tmp_path: Path, program: str, steps: int
) -> None:
    order = [*grain_stream().plan.order.indices(0, 4 * SECOND)]
    lengths = set()
    for trial in killed(program, tmp_path / "runs", trials=60, at_once=20, steps=steps):
        run = opened(trial.run)
        if run is None:
            assert trial.rows == 0
            continue
        if run.rows:
            expected = range(run.rows) if program == "iterable" else order[: run.rows]
            assert records(run) == list(expected)
        assert trial.rows - SECOND < run.rows <= trial.rows + 4
        assert (run.complete, run.fingerprint) == (False, None)
        lengths.add(run.rows)

    assert len(lengths) > 10


def test_a_kill_while_parts_are_sealed_costs_no_row(tmp_path: Path) -> None:
    parts = set()
    for trial in killed("sealing", tmp_path / "runs", trials=60, at_once=2, steps=7):
        run = opened(trial.run)
        if run is None:
            assert trial.rows == 0
            continue
        if run.rows:
            assert records(run) == list(range(run.rows))
        assert run.rows >= trial.rows
        assert (run.complete, run.fingerprint) == (False, None)
        parts.add(len(run.streams["main"].ranks[0].header.files))

    assert len(parts) > 2


def test_a_kill_while_a_run_begins_or_is_closed_costs_no_row(tmp_path: Path) -> None:
    states = []
    for trial in killed("closing", tmp_path / "runs", trials=150, at_once=2, steps=3):
        for step in range(trial.step + 1):
            run = opened(trial.run / f"{step}")
            rows = trial.rows if step == trial.step else 3
            assert (run.rows if run else 0) >= rows
            assert step == trial.step or (run and run.complete)
        states.append((run.complete, run.rows) if run else None)

    assert {(False, 3), (True, 3)} <= set(states) <= {None, (False, 0), (False, 3), (True, 3)}
