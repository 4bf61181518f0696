"""A program's own modules may be called like frameworks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from detloader import open_run

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
