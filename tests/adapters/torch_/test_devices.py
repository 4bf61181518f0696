"""Batches that lie on a device are recorded as those in this process's memory are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from detloader import audit, open_run
from detloader.findings import Verdict

ROOT = Path(__file__).parents[3]


def test_batches_on_a_device_have_the_content_of_those_on_the_host(tmp_path: Path) -> None:
    run = tmp_path / "run"
    # In a process of its own, for a device stays once it is there.
    command = [sys.executable, "-m", "tests.support.numpy_device", str(run)]
    told = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    rows = open_run(run).streams["main"].table()

    assert told.stdout.splitlines() == ["npy:0", "cpu"]
    assert rows["record"].to_pylist() == list(range(10))
    assert rows["content"].null_count == 0
    result = audit(run, tmp_path / "run-host", verify=True)
    assert result.verdict is Verdict.IDENTICAL
    assert "content" not in (result.not_compared or [])
