"""Factories in a file that is no module of any package: FILE:FACTORY."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from detloader.cli import commands
from detloader.cli.status import guarded
from detloader.errors import FactoryError
from detloader.manifest.reader import open_run
from detloader.recipe import build_loader


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder; what is imported from it is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(tmp_path):
            del sys.modules[name]


def test_a_file_is_imported_beside_its_neighbours(folder: Path) -> None:
    (folder / "deep").mkdir()
    (folder / "deep" / "numbers_of_mine.py").write_text("NUMBERS = [1, 2]")
    source = "from numbers_of_mine import NUMBERS\nclass Data:\n    make = NUMBERS.copy\n"
    (folder / "deep" / "train_of_mine.py").write_text(source)
    loader, recipe = build_loader("deep/train_of_mine.py:Data.make")

    assert loader == [1, 2]
    assert recipe.factory == "deep/train_of_mine.py:Data.make"
    assert recipe.source_sha256 is not None


def test_the_command_line_takes_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "of_mine.py").write_text("def make(size=3): return list(range(size))")
    status = guarded(commands(), ["record", "of_mine.py:make", "-p", "size=5", "-o", "run"])

    assert (status, capsys.readouterr().out) == (0, "run: 5 rows\n")
    assert open_run("run").streams["main"].recipe is not None


@pytest.mark.parametrize(
    ("factory", "told"),
    [
        ("nowhere.py:make", "nowhere.py does not exist: name a file as seen from the current"),
        ("json.py:make", "json.py cannot be imported, for .* is: rename it"),
        ("of_mine.py:mak", "of_mine.py has no mak: did you mean make?"),
        ("broken.py:make", "broken failed while it was imported: ZeroDivisionError"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_so(factory: str, told: str, folder: Path) -> None:
    (folder / "of_mine.py").write_text("def make(): return [1]")
    (folder / "json.py").touch()
    (folder / "broken.py").write_text("1 / 0")

    with pytest.raises(FactoryError, match=told):
        build_loader(factory)
