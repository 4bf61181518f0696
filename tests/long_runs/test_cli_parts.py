"""`detloader record` with `--epochs`, `--every`, `--then`, `--digest` and `--id-hash`, typed."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from detloader.manifest.reader import open_run
from detloader.manifest.schema import Sampling
from tests.support.commands import Cli, cli

__all__ = ["cli"]

JOB = """
def make():
    return [{"id": number} for number in range(6)]
"""


@pytest.fixture
def typed(cli: Cli, tmp_path: Path) -> Cli:
    """Record the job with further options."""
    (tmp_path / "job.py").write_text(JOB)
    return functools.partial(cli, "record", "job:make", "--ids", "id", "-o", "run")


def test_what_is_typed_is_what_is_kept(typed: Cli, tmp_path: Path) -> None:
    (tmp_path / "ids.key").write_text("a key that nobody would guess")
    options = "--epochs 0,2,5-7 --every 2 --then order --digest sha256 --id-hash ids.key"
    ran = typed(*options.split())

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
def test_what_makes_no_sense_is_one_line(
    typed: Cli, tmp_path: Path, options: str, why: str
) -> None:
    ran = typed(*options.split())

    assert ran.returncode == 2
    assert why in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()
