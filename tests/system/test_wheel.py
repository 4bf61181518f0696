from __future__ import annotations

import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_SOURCE = (".*", "build", "dist", "*.egg-info", "__pycache__", "detloader-demo", "runs")


@pytest.fixture(scope="module")
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


def test_the_wheel_holds_one_top_level_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()

    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {"detloader"}
    assert {
        "detloader/audits/rules/__init__.py",
        "detloader/reports/text.py",
        "detloader/demo/digits.npz",
        "detloader/demo/DIGITS.md",
        "detloader/py.typed",
    } <= set(names)


@pytest.mark.timeout(900)
def test_an_installed_wheel_runs_the_demo_away_from_the_checkout(
    wheel: Path, tmp_path: Path
) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    programs = tmp_path / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    subprocess.run(
        [programs / "python", "-m", "pip", "install", "--quiet", wheel], check=True, cwd=tmp_path
    )

    done = subprocess.run(
        [programs / "detloader", "demo"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "implicit-partitioning" in done.stdout
    assert (tmp_path / "detloader-demo" / "result.json").is_file()
