from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from detloader.cli import commands
from detloader.cli.status import guarded
from tests.support.replaying import Done, furnish, write


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, furnished."""
    furnish(tmp_path, monkeypatch)
    return tmp_path


@pytest.fixture
def recorded(folder: Path) -> Callable[..., Path]:
    """Record a factory's loader in this process, below the current folder."""

    def make(factory: str, **arguments: Any) -> Path:
        return write(folder, factory, **arguments)

    return make


@pytest.fixture
def detloader(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Run a command in this process."""

    def run(*arguments: object) -> Done:
        capsys.readouterr()
        status = guarded(commands(), [*map(str, arguments)])
        return Done(status, *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The current folder of a whole module, furnished."""
    folder = tmp_path_factory.mktemp("furnished")
    with pytest.MonkeyPatch.context() as monkeypatch:
        furnish(folder, monkeypatch)
        yield folder
