"""Runs to replay, and the folder that they are replayed in."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from detloader.recipe import build_loader
from detloader.recording import record

__all__ = ["Done", "furnish", "write"]

ROOT = Path(__file__).parents[2]
MODULE = "tests.support.axes_factories"


class Done(NamedTuple):
    """What a command left: its status, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def furnish(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Go to a folder with some files to list, from which children can import the factories."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.delenv("LC_ALL", raising=False)
    (folder / "files").mkdir()
    for number in range(9):
        (folder / "files" / f"{number}.txt").touch()


def write(folder: Path, factory: str, *, batched: bool | None = None, **arguments: Any) -> Path:
    """Record a factory's loader in this process."""
    loader, recipe = build_loader(f"{MODULE}:{factory}", arguments)
    run = folder / f"run-{len(list(folder.glob('run-*')))}"
    with record(loader, run, batched=batched, recipe=recipe) as twin:
        for _ in twin:
            pass
    return run
