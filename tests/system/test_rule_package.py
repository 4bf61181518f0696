from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.support.rule_package import write_package
from tests.support.runs import write_run

SCRIPT = Path(sysconfig.get_path("scripts"), "detloader")


@pytest.mark.timeout(600)
def test_the_package_of_the_docs_is_installed_and_its_rule_is_asked(tmp_path: Path) -> None:
    package = write_package(tmp_path / "package")
    installed = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--target", installed, package], check=True)
    run = write_run(tmp_path / "run", {"batch": [0, 0, 1, 1], "record": [4, 4, 3, 2]})

    def detloader(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [SCRIPT, *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": str(installed)},
            capture_output=True,
            text=True,
            check=False,
        )

    assert "\nbatch-repeat " in detloader("rules").stdout
    checked = detloader("check", run, "--select", "batch-repeat")

    assert checked.returncode == 1
    assert "batch-repeat (fail)" in checked.stdout
