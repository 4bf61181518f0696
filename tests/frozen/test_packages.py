"""A recipe names the packages that its factory loaded, and no others."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from detloader import open_run
from detloader.audits.frozen import freeze

FACTORY = """
import jsonschema


class Rows:
    def __iter__(self):
        return iter(range(3))
"""


def test_packages_of_the_factory_and_their_needs_are_frozen_and_none_of_detloader(
    tmp_path: Path,
) -> None:
    (tmp_path / "train.py").write_text(FACTORY)
    words = ["record", "train:Rows", "-o", "run"]
    subprocess.run(
        [sys.executable, "-m", "detloader", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONSAFEPATH": "1"},
        check=True,
    )
    packages = freeze(open_run(tmp_path / "run")).streams["main"].packages

    assert {"jsonschema", "referencing", "numpy"} <= packages.keys()
    assert packages["jsonschema"] == metadata.version("jsonschema")
    assert not packages.keys() & {"click", "pyarrow", "scipy", "tensorflow"}
