"""`detloader record` with `--epochs`, `--every`, `--then`, `--digest` and `--id-hash`, typed."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

import pytest

from detloader.manifest.reader import open_run
from detloader.manifest.schema import Sampling

SCRIPT = Path(sysconfig.get_path("scripts"), "detloader")
JOB = """
def make():
    return [{"id": number} for number in range(6)]
"""


def typed(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "job.py").write_text(JOB)
    command = [str(SCRIPT), "record", "job:make", "--ids", "id", "-o", "run", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_what_is_typed_is_what_is_kept(tmp_path: Path) -> None:
    (tmp_path / "ids.key").write_text("a key that nobody would guess")
    options = "--epochs 0,2,5-7 --every 2 --then order --digest sha256 --id-hash ids.key"
    ran = typed(tmp_path, *options.split())

    header = open_run(tmp_path / "run").streams["main"].ranks[0].header
    assert (ran.returncode, ran.stdout) == (0, "run: 3 rows\n")
    assert header.sampling == Sampling(epochs=[0, 2, 5, 6, 7], every=2, then="order")
    assert (header.digest, header.id_hash is None) == ("sha256", False)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("--epochs x", "write numbers, such as 0,10,20-29"),
        ("--epochs 3-1", "epochs count from 0"),
        ("--epochs 0-99999999999", "65,536 of them at most"),
        ("--every 0", "not in the range"),
        ("--then order --level order", "after level full"),
        ("--id-hash missing.key", "cannot be read"),
        ("--every 2 --verify 0.5", "goes by the number of a row"),
    ],
)
def test_what_makes_no_sense_is_one_line(tmp_path: Path, options: str, why: str) -> None:
    ran = typed(tmp_path, *options.split())

    assert ran.returncode == 2
    assert why in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()
