"""What a run says of its IDs and its content holds when it is made again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FACTORY = """
from pathlib import Path
from detloader import to_grain

def paths():
    folder = Path(__file__).resolve().parent / "data"
    return [{"id": str(folder / f"{number}.png"), "x": number / 7} for number in range(6)]

def stream():
    return to_grain([{"x": number / 7} for number in range(6)], shuffle=False, batch_size=2)
"""


def detloader(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    script = Path(sys.executable).with_name("detloader")
    return subprocess.run([script, *words], cwd=folder, check=False, capture_output=True, text=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(FACTORY)
    (tmp_path / "data").mkdir()
    return tmp_path


def test_a_replay_gives_the_same_root_and_the_same_rounding(folder: Path) -> None:
    options = ["--ids", "id", "--id-root", "data", "--decimals", "2"]
    recorded = detloader(folder, "record", "mine:paths", "-o", "run", *options)
    replayed = detloader(folder, "replay", "run")

    assert recorded.returncode == 0, recorded.stderr
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    assert replayed.stdout.startswith("identical")


def test_a_root_that_is_not_kept_is_asked_for(folder: Path) -> None:
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine.py").write_text(FACTORY.replace("parent", "parent.parent"))
    options = ["--ids", "id", "--id-root", str(folder / "data")]
    recorded = detloader(elsewhere, "record", "mine:paths", "-o", "run", *options)
    replayed = detloader(elsewhere, "replay", "run")

    assert recorded.returncode == 0, recorded.stderr
    assert replayed.returncode == 2
    assert "record IDs relative to a folder that it does not name" in replayed.stderr


def test_records_made_again_alone_are_rounded_alike(folder: Path) -> None:
    done = detloader(
        folder, "record", "mine:stream", "-o", "run", "--content", "float16", "--verify", "1"
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 records made again alone: as recorded" in done.stdout
