from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

from tests.cli.conftest import SCRIPT
from tests.support.terminals import read_terminal

ROOT = Path(__file__).parents[2]
LOADERS = "tests.support.slow_loaders"


def test_a_long_recording_says_how_far_it_is_and_wipes_that_away(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    file = tmp_path / "file"
    words = ["record", f"{LOADERS}:delivering", "-p", f"file={file}", "--batches", "1000000000"]
    with subprocess.Popen(
        [SCRIPT, *words, "-o", tmp_path / "run"],
        cwd=ROOT,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    ) as program:
        os.close(theirs)
        errors = read_terminal(ours, until=" of 1,000,000,000 0:")
        file.touch()
        errors += read_terminal(ours)
        output, _ = program.communicate()
    os.close(ours)

    assert f"recording {LOADERS}:delivering" in errors
    # The last line is erased, and the cursor is there again.
    assert "\x1b[2K" in errors.rpartition("recording")[2]
    assert errors.rindex("\x1b[?25h") > errors.rindex("\x1b[?25l")
    assert output.startswith(f"{tmp_path / 'run'}: ")


def test_nothing_is_shown_where_standard_error_is_no_terminal(tmp_path: Path) -> None:
    words = ["record", f"{LOADERS}:lasting", "-p", "seconds=1.5", "-o", f"{tmp_path}/run"]
    done = subprocess.run([SCRIPT, *words], cwd=ROOT, capture_output=True, check=True)

    assert done.stderr == b""
