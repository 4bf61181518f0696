from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

from tests.cli.conftest import SCRIPT
from tests.support.terminals import read_terminal

ROOT = Path(__file__).parents[2]
SLOW = ("record", "tests.support.slow_loaders:lasting", "-p", "seconds=2.5")


def errors_on_a_terminal(run: Path, *arguments: str) -> tuple[str, str]:
    """Run the program with a terminal for standard error; gives what came out, and on it."""
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [SCRIPT, *arguments, "-o", run],
        cwd=ROOT,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        check=True,
    )
    os.close(theirs)
    shown = read_terminal(ours)
    os.close(ours)
    return done.stdout, shown


def test_a_long_recording_says_how_far_it_is_and_wipes_that_away(tmp_path: Path) -> None:
    output, errors = errors_on_a_terminal(tmp_path / "run", *SLOW, "--batches", "1000000000")

    assert "recording tests.support.slow_loaders:lasting" in errors
    assert " of 1,000,000,000 0:00:0" in errors
    # The last line is erased, and the cursor is there again.
    assert "\x1b[2K" in errors.rpartition("recording")[2]
    assert errors.rindex("\x1b[?25h") > errors.rindex("\x1b[?25l")
    assert output.startswith(f"{tmp_path / 'run'}: ")


def test_nothing_is_shown_where_standard_error_is_no_terminal(tmp_path: Path) -> None:
    done = subprocess.run(
        [SCRIPT, *SLOW, "-o", tmp_path / "run"], cwd=ROOT, capture_output=True, check=True
    )

    assert done.stderr == b""
