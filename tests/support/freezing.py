"""Factories in a file of the current folder, runs that they made, and commands on their files."""

from __future__ import annotations

import hashlib
import json
import runpy
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from detloader.audits.frozen import freeze, save
from detloader.cli import commands
from detloader.cli.status import guarded
from detloader.manifest.schema import Recipe
from detloader.recording import record

__all__ = ["Answer", "Experiment", "source"]

_ROWS = """
import os, random, time
from pathlib import Path


class Rows:
    def __init__(self, ids):
        self.ids = ids

    def __iter__(self):
        return ({"id": i, "x": float(i)} for i in self.ids)


"""


def source(body: str) -> str:
    """Return the source of a module whose factory `make` does this, with `Rows` of IDs at hand."""
    return f"{_ROWS}def make(n=20):\n    {body}\n"


class Answer(NamedTuple):
    """What a command left: its status, its result, and what it printed."""

    status: int
    result: dict[str, Any]
    text: str
    errors: str

    def evidence(self, rule: str) -> dict[str, Any]:
        """Return the evidence of the only finding of a rule."""
        (finding,) = (each for each in self.result["findings"] if each["rule"] == rule)
        evidence: dict[str, Any] = finding["evidence"]
        return evidence


class Experiment:
    """A factory `train:make` in a folder, a run of it, and its frozen file."""

    file = Path("frozen.json")
    run = Path("run")

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def edit(self, body: str) -> None:
        """Write the factory's file anew."""
        Path("train.py").write_text(body, encoding="utf-8")

    def freeze(
        self,
        body: str,
        *,
        packages: dict[str, str] | None = None,
        level: str = "full",
        every: int | None = None,
        **declared: Any,
    ) -> None:
        """Write the factory's file, record its loader, and freeze the run."""
        self.edit(body)
        digest = hashlib.sha256(Path("train.py").read_bytes()).hexdigest()
        recipe = Recipe(factory="train:make", source_sha256=digest, packages=packages or {})
        # Without a module of that name, which would stay as it is.
        loader = runpy.run_path("train.py")["make"]()
        recorded = record(
            loader, self.run, ids="id", recipe=recipe, level=level, every=every, declared=declared
        )
        with recorded:
            for _ in recorded:
                pass
        save(freeze(self.run), self.file)

    def preflight(self, *arguments: object) -> Answer:
        """Ask about the frozen file."""
        words = ["preflight", str(self.file), "--json", "result.json", *map(str, arguments)]
        self._capsys.readouterr()
        status = guarded(commands(), words)
        printed = self._capsys.readouterr()
        path = Path("result.json")
        result = json.loads(path.read_text()) if path.exists() else {}
        path.unlink(missing_ok=True)
        return Answer(status, result, *printed)
