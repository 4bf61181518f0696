"""A killed process leaves an exact prefix, and loses at most its last second."""

from __future__ import annotations

import itertools
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from detloader import open_run
from detloader.errors import DetloaderError, RunExistsError
from detloader.manifest.verify import verify_run
from detloader.manifest.writer import PART_ROWS
from tests.support.recording import grain_stream
from tests.support.tables import rank_writer

CHILD = Path(__file__).parents[1] / "support" / "recording.py"
DEADLINE = 5.0


@contextmanager
def child(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Run a program of the support module; it is killed at the latest when the block ends."""
    command = [sys.executable, str(CHILD), *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def read_until(process: subprocess.Popen[str], rows: int) -> list[tuple[int, float]]:
    """Read acknowledgements up to the first that reaches so many rows."""
    assert process.stdout is not None
    found = []
    for line in process.stdout:
        delivered, when = line.split()
        found.append((int(delivered), float(when)))
        if found[-1][0] >= rows:
            break
    return found


def kill_at(process: subprocess.Popen[str], rows: int) -> list[tuple[int, float]]:
    """Kill after that acknowledgement; return all that were sent, and the moment of death."""
    found = read_until(process, rows)
    process.send_signal(signal.SIGKILL)
    died = time.monotonic()
    assert process.wait() == -signal.SIGKILL
    assert process.stdout is not None
    rest = (line.split() for line in process.stdout.read().splitlines())
    found += [(int(words[0]), float(words[1])) for words in rest if len(words) == 2]
    return [*found, (found[-1][0], died)]


def old_enough(acknowledged: list[tuple[int, float]]) -> int:
    """Count the rows that were delivered more than a second before the last moment."""
    died = acknowledged[-1][1]
    return max((rows for rows, when in acknowledged if when < died - 1), default=0)


SEEDS = random.Random(0).sample(range(10_000), 4)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["stream", "iterable"])
def test_a_killed_recording_is_an_exact_prefix(tmp_path: Path, kind: str, seed: int) -> None:
    with child(kind, tmp_path / "run") as process:
        acknowledged = kill_at(process, random.Random(seed).randrange(1, 6000))

    run = verify_run(tmp_path / "run")
    found = run.streams["main"].table(["record"])["record"].to_pylist() if run.rows else []
    expected = (
        range(run.rows) if kind == "iterable" else grain_stream().plan.order.indices(0, run.rows)
    )

    assert found == list(expected)
    assert old_enough(acknowledged) <= run.rows <= acknowledged[-1][0] + 4
    assert not run.complete
    assert run.fingerprint is None


@pytest.mark.parametrize("seed", SEEDS)
def test_a_kill_while_parts_are_sealed_loses_no_row(tmp_path: Path, seed: int) -> None:
    with child("sealing", tmp_path / "run") as process:
        acknowledged = kill_at(process, random.Random(seed).randrange(1, 4 * PART_ROWS))

    run = verify_run(tmp_path / "run")
    record = run.streams["main"].table(["record"])["record"].to_numpy()

    assert (record == range(len(record))).all()
    assert run.rows >= acknowledged[-1][0]
    assert not run.complete


def test_what_is_delivered_reaches_the_disk_though_the_loop_stands_still(
    tmp_path: Path,
) -> None:
    with child("standing_still", tmp_path / "run", 137) as process:
        delivered = read_until(process, 137)[-1][1]
        for _ in itertools.count():
            rows = _rows_on_disk(tmp_path / "run")
            if rows == 137 or time.monotonic() > delivered + DEADLINE:
                break
        process.kill()

    assert rows == 137
    assert verify_run(tmp_path / "run").rows == 137


def _rows_on_disk(run: Path) -> int:
    try:
        return open_run(run).rows
    except DetloaderError:
        return 0


def test_a_new_recording_into_a_killed_run_says_what_to_do(tmp_path: Path) -> None:
    with child("iterable", tmp_path / "run") as process:
        read_until(process, 10)
        with pytest.raises(RunExistsError, match="is being recorded already: choose another"):
            rank_writer(tmp_path / "run")
    rows = open_run(tmp_path / "run").rows

    with pytest.raises(RunExistsError, match="cut off: choose another folder, or remove it"):
        rank_writer(tmp_path / "run")
    assert open_run(tmp_path / "run").rows == rows
