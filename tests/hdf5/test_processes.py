"""Files in processes that were forked, and in those that may open few."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.hdf5_files import first_values, load, write

FORK = """
import os, sys
from tests.support.hdf5_files import first_values, load
wanted = first_values(load(sys.argv[1]))
loader = load(sys.argv[1], num_threads=8)
for taken in range(6):
    loader.set_epoch(0)
    steps = iter(loader)
    for _ in range(taken):
        next(steps)
    if (child := os.fork()) == 0:
        loader.set_epoch(0)
        os._exit(0 if first_values(loader) == wanted else 1)
    assert os.waitpid(child, 0)[1] == 0, taken
"""

FEW = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))
from tests.support.hdf5_files import first_values, load
loaders = [load(sys.argv[1], num_threads=8, batch_size=size) for size in (2, 120)]
print([sorted(first_values(loader)) for loader in loaders])
"""


def run(program: str, folder: Path) -> str:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program, folder],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("count", [1, 5])
def test_a_forked_process_reads_what_its_parent_reads(tmp_path: Path, count: int) -> None:
    assert run(FORK, write(tmp_path, *[20] * count)) == ""


def test_more_files_than_a_process_may_open_are_read(tmp_path: Path) -> None:
    write(tmp_path, *[2] * 60)

    wanted = sorted(first_values(load(tmp_path)))
    assert run(FEW, tmp_path).strip() == str([wanted, wanted])
