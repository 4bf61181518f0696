from __future__ import annotations

import os
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from detloader.importers import import_log
from tests.support.commands import Completed, cli

__all__ = ["CASES", "SCRIPT", "Completed", "cli", "run_program"]

SCRIPT = Path(sysconfig.get_path("scripts"), "detloader")
CASES = Path(__file__).parents[1] / "cases"


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
def case(tmp_path: Path) -> Callable[[str], list[Path]]:
    """Import the logs of a case; gives the runs that it has."""

    def imported(name: str) -> list[Path]:
        logs = sorted((CASES / name).glob("run*.csv"))
        runs = [tmp_path / log.stem for log in logs]
        for log, run in zip(logs, runs, strict=True):
            import_log(log, run, meta=log.with_suffix(".json"))
        return runs

    return imported
