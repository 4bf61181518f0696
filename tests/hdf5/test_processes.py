"""Files and iterators in processes that were forked, and in those that may open few."""

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

GOING_ON = """
import os, sys
from tests.support.hdf5_files import add_noise, first_values, load
arguments = {"num_threads": int(sys.argv[2]), "augmentation": add_noise}
wanted = first_values(load(sys.argv[1], **arguments))
for taken in range(8):
    steps = iter(load(sys.argv[1], **arguments))
    head = [next(steps) for _ in range(taken)]
    child = os.fork()
    if child == 0:
        state = steps.get_state()
    whole = first_values([*head, *steps])
    if child == 0:
        steps.set_state(state)
        sys.exit(not whole == wanted == first_values([*head, *steps]))
    assert os.waitpid(child, 0)[1] == 0, taken
    assert whole == wanted
"""

OF_WORKERS = """
import os, sys
import grain
from detloader.errors import UsageError
from tests.support.hdf5_files import first_values, load
if __name__ == "__main__":
    loader = load(sys.argv[1])
    stream = loader.to_iter_dataset().mp_prefetch(grain.MultiprocessingOptions(num_workers=1))
    steps = iter(stream)
    head = [next(steps)]
    if (child := os.fork()) == 0:
        try:
            next(steps)
        except UsageError:
            other = iter(stream)
            other.set_state(steps.get_state())
            whole = first_values([*head, *other])
            other.close()
            os._exit(whole != first_values(loader.to_iter_dataset()))
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert first_values([*head, *steps]) == first_values(loader.to_iter_dataset())
"""

FEW = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))
from tests.support.hdf5_files import first_values, load
loaders = [load(sys.argv[1], num_threads=8, batch_size=size) for size in (2, 120)]
print([sorted(first_values(loader)) for loader in loaders])
"""


def run(program: str, folder: Path, *arguments: str) -> str:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program, folder, *arguments],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("count", [1, 5])
def test_a_forked_process_reads_what_its_parent_reads(tmp_path: Path, count: int) -> None:
    assert run(FORK, write(tmp_path, *[20] * count)) == ""


@pytest.mark.parametrize("threads", ["0", "1", "8"])
def test_a_forked_process_goes_on_with_an_iterator_and_so_does_its_parent(
    tmp_path: Path, threads: str
) -> None:
    assert run(GOING_ON, write(tmp_path, 20, 9), threads) == ""


def test_a_forked_process_is_told_that_workers_are_its_parents(tmp_path: Path) -> None:
    assert run(OF_WORKERS, write(tmp_path, 20, 9)) == ""


def test_more_files_than_a_process_may_open_are_read(tmp_path: Path) -> None:
    write(tmp_path, *[2] * 60)

    wanted = sorted(first_values(load(tmp_path)))
    assert run(FEW, tmp_path).strip() == str([wanted, wanted])
