"""`detloader freeze`: what it writes, and what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from detloader.audits.frozen import freeze, load
from detloader.cli import commands
from detloader.cli.status import guarded
from tests.support.freezing import Experiment, source
from tests.support.runs import write_run


def test_a_run_is_frozen_into_a_file_that_is_replaced(
    experiment: Experiment, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment.freeze(source("return Rows(range(n))"))
    Path("old.json").write_text("<<<<<<< HEAD\n")
    status = guarded(commands(), ["freeze", "run", "-o", "old.json"])

    frozen = load("old.json")
    assert status == 0
    assert frozen == freeze("run")
    assert capsys.readouterr().out == (
        f"old.json: 20 rows, record, epoch, content, {frozen.fingerprint}\n"
    )


def test_a_run_that_no_factory_made_is_frozen_and_that_is_said(
    experiment: Experiment, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(Path("run"), {"record": [1, 2]})
    status = guarded(commands(), ["freeze", "run", "-o", "frozen.json"])

    assert status == 0
    assert "no factory is named, so preflight cannot run it" in capsys.readouterr().out
    assert load("frozen.json").streams["main"].recipe is None


@pytest.mark.parametrize(
    ("run", "told"), [("missing", "missing does not exist"), ("open", "freeze a complete run")]
)
def test_what_cannot_be_frozen_leaves_no_file(
    experiment: Experiment, capsys: pytest.CaptureFixture[str], run: str, told: str
) -> None:
    write_run(Path("open"), {"record": [1, 2]}, seal=False)
    status = guarded(commands(), ["freeze", run, "-o", "frozen.json"])

    assert status == 2
    assert told in capsys.readouterr().err
    assert not Path("frozen.json").exists()
