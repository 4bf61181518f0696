"""Commands of the program, run in this process: a program of its own costs a second."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from detloader.cli import commands
from detloader.cli.status import guarded

__all__ = ["Cli", "Completed", "cli"]

Completed = subprocess.CompletedProcess[str]
Cli = Callable[..., Completed]


@pytest.fixture
def cli(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Cli]:
    """Run a command of the program in this process, in an empty folder.

    What it imports from there is forgotten at the end.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = {*sys.modules}

    def run(*arguments: object) -> Completed:
        capfd.readouterr()
        words = [str(argument) for argument in arguments]
        status = guarded(commands(), words)
        return Completed(words, int(status), *capfd.readouterr())

    yield run
    for name in {*sys.modules} - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(tmp_path):
            del sys.modules[name]
