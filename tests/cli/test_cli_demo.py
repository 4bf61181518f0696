from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from detloader.demo.digits import load_subjects
from detloader.manifest.verify import verify_run
from tests.cli.conftest import Completed, run_program

Cli = Callable[..., Completed]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the demo runs."""
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def demo(folder: Path) -> Completed:
    """The demo, run as its reader would."""
    return run_program(folder, "demo")


def test_the_demo_names_what_changed_and_why(demo: Completed, folder: Path) -> None:
    written = folder / "detloader-demo"
    result = json.loads((written / "result.json").read_text(encoding="utf-8"))
    old, workers = result["comparisons"]

    assert demo.returncode == 0
    assert {"implicit-partitioning", "ignored-weights"} <= {f["rule"] for f in old["findings"]}
    assert (old["verdict"], workers["verdict"]) == ("changed", "identical")
    for name in ("old", "new", "new-2-workers"):
        assert verify_run(written / name).complete


def test_the_demo_tells_its_story(demo: Completed) -> None:
    told = demo.stdout

    assert "never delivered these subjects: 20, 21, 22." in told
    assert "implicit-partitioning (fail)" in told
    assert "ignored-weights (fail)" in told
    assert "identical: detloader-demo/new-2-workers has the same 2,304 rows" in told
    assert (
        "the result in\ndetloader-demo/result.json" in told or "detloader-demo/result.json" in told
    )
    assert max(map(len, told.splitlines())) <= 80


def test_the_demo_writes_its_report_as_a_page(demo: Completed, folder: Path) -> None:
    page = folder / "detloader-demo" / "report.html"
    report = ("report", "detloader-demo/result.json", "--html", "again.html", "--quiet")
    again = run_program(folder, *report)

    assert "The same with pictures: detloader-demo/report.html" in demo.stdout
    assert page.read_text(encoding="utf-8").count("<svg") >= 9
    assert again.returncode == 0
    assert (folder / "again.html").read_bytes() == page.read_bytes()


def test_the_weights_became_what_was_asked_in_the_new_loader_only(
    demo: Completed,
) -> None:
    rows = re.findall(r"^ +\d +\d +([\d.]+)% +([\d.]+)% +([\d.]+)%$", demo.stdout, re.MULTILINE)
    asked, new, old = np.array(rows, float).T

    assert np.abs(new - asked).max() < 3
    assert np.abs(old - asked).max() > 10


def test_the_demo_overwrites_nothing(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    done = cli("demo", "-o", "here")

    assert done.returncode == 2
    assert done.stderr == (
        "detloader: here exists: name another folder with -o, or remove it first\n"
    )
    assert list((tmp_path / "here").iterdir()) == []


def test_the_digits_are_all_there() -> None:
    subjects = load_subjects()

    assert len(subjects) == 23
    assert sum(map(len, subjects)) == 1797
    assert {subject.shape[1:] for subject in subjects} == {(8, 8)}
    assert max(subject.max() for subject in subjects) == 16
