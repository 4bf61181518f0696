from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.freezing import Experiment
from tests.support.replaying import ROOT


@pytest.fixture
def experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Experiment:
    """An experiment in the current folder, which is empty."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return Experiment(capsys)
