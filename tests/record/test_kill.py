"""What is delivered reaches the disk by itself; what was cut off is kept and not written over."""

from __future__ import annotations

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
from tests.support.tables import rank_writer

CHILD = Path(__file__).parents[1] / "support" / "recording.py"


@contextmanager
def child(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Run a program of the support module; it is killed at the latest when the block ends."""
    command = [sys.executable, str(CHILD), *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def read_until(process: subprocess.Popen[str], rows: int) -> None:
    """Read acknowledgements up to the first that reaches so many rows."""
    assert process.stdout is not None
    assert any(int(line) >= rows for line in process.stdout)


def test_what_is_delivered_reaches_the_disk_though_the_loop_stands_still(
    tmp_path: Path,
) -> None:
    with child("standing_still", tmp_path / "run", 137) as process:
        read_until(process, 137)
        while _rows_on_disk(tmp_path / "run") < 137:
            time.sleep(0.01)
        process.kill()

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
