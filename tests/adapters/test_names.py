"""A program's own modules may be called like frameworks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from detloader import adapters, open_run
from detloader.adapters import find_adapter

PROGRAM = """
from {name} import Records
from torch.utils.data import DataLoader
from detloader import record

for loader, run in ((Records(), "a"), (DataLoader(Records()), "b")):
    with record(loader, run) as recorded:
        assert len(list(recorded)) == 3
"""

MODULE = """
from torch.utils.data import IterableDataset

class Records(IterableDataset):
    def __iter__(self):
        return iter(range(3))
"""


@pytest.mark.parametrize("name", ["datasets", "streaming", "webdataset"])
def test_a_module_that_is_called_like_a_framework_is_none(name: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.py").write_text(MODULE)
    (tmp_path / "program.py").write_text(PROGRAM.format(name=name))

    subprocess.run([sys.executable, "program.py"], cwd=tmp_path, check=True)

    assert [open_run(tmp_path / run).rows for run in "ab"] == [3, 3]


def test_an_installed_framework_that_the_adapter_does_not_know_is_told(tmp_path: Path) -> None:
    # As of another release: the package is there, and the name that the adapter imports is not.
    package = tmp_path / "site-packages" / "streaming"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("class Dataset(list):\n    pass\n")
    program = """
from streaming import Dataset
from detloader import record
from detloader.errors import UsageError

try:
    record(Dataset([1, 2]), "run")
except UsageError as error:
    print(error)
"""
    (tmp_path / "program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.startswith("cannot record loaders of this release of streaming: cannot")
    assert "StreamingDataset" in done.stdout
    assert not (tmp_path / "run").exists()


def test_what_an_adapter_misses_elsewhere_is_raised_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "unheard_of.py").write_text("from detloader.errors import NoSuchError\n")
    monkeypatch.setattr(adapters, "__path__", [*adapters.__path__, str(tmp_path)])
    kind = type("Loader", (), {"__module__": "unheard_of.loading"})

    with pytest.raises(ImportError, match="NoSuchError"):
        find_adapter(kind())
