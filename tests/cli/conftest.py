from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from detloader.cli import commands
from detloader.cli.status import guarded
from detloader.importers import import_log

SCRIPT = Path(sysconfig.get_path("scripts"), "detloader")
CASES = Path(__file__).parents[1] / "cases"

Completed = subprocess.CompletedProcess[str]


def run_program(folder: Path, *arguments: object, **variables: str) -> Completed:
    """Run the installed program, in a process of its own."""
    return subprocess.run(
        [SCRIPT, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "COLUMNS": "80", **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Completed]:
    """The installed program, for an empty folder."""

    def run(*arguments: object, **variables: str) -> Completed:
        return run_program(tmp_path, *arguments, **variables)

    return run


@pytest.fixture
def cli(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Completed]:
    """Run a command of the program in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "path", [*sys.path])

    def run(*arguments: object) -> Completed:
        capfd.readouterr()
        words = [str(argument) for argument in arguments]
        status = guarded(commands(), words)
        return Completed(words, int(status), *capfd.readouterr())

    return run


@pytest.fixture
def case(tmp_path: Path) -> Callable[[str], list[Path]]:
    """Import the logs of a case; gives the runs that it has."""

    def imported(name: str) -> list[Path]:
        logs = sorted((CASES / name).glob("run*.csv"))
        runs = [tmp_path / log.stem for log in logs]
        for log, run in zip(logs, runs, strict=True):
            import_log(log, run, meta=log.with_suffix(".json"))
        return runs

    return imported
