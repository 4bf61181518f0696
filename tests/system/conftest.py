"""The wheel, and environments of their own that it is installed in."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_SOURCE = (".*", "build", "dist", "*.egg-info", "__pycache__", "detloader-demo", "runs")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy, so that the checkout stays as it is."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    shutil.copytree(ROOT, source, symlinks=True, ignore=shutil.ignore_patterns(*NOT_SOURCE))
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, source],
        check=True,
    )
    (built,) = folder.glob("detloader-*.whl")
    return built


def make_environment(folder: Path) -> Path:
    """Make an environment without any package; returns the folder of its programs."""
    venv.create(folder / "venv")
    return folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")


def install(programs: Path, *arguments: str | Path) -> None:
    """Install into an environment; most of what comes along is never imported, nor compiled."""
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", programs / "python"]
    subprocess.run(
        [*pip, "install", "--quiet", "--no-compile", *arguments], check=True, cwd=programs
    )
