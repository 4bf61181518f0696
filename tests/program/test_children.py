"""Child processes of a recorded program: their rows, whoever ends them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from detloader import open_run
from detloader.manifest.verify import verify_run
from tests.support.programs import record_program, write_program

METHODS = ["fork", "forkserver", "spawn"]

HEAD = """
    import sys, multiprocessing, torch
    from concurrent.futures import ProcessPoolExecutor
    from torch.utils.data import DataLoader
    def work(number=0):
        for batch in DataLoader(torch.arange(20), batch_size=4):
            pass
"""


def recorded(folder: Path, text: str, *arguments: str) -> list[tuple[int, bool]]:
    """Run a program; return rows and completeness of each stream."""
    program = write_program(folder, text, HEAD)
    done = record_program(folder, sys.executable, program, *arguments)
    assert done.returncode == 0, done.stderr
    streams = verify_run(folder / "run").streams.values()
    return [(stream.rows, stream.complete) for stream in streams]


@pytest.mark.parametrize("method", METHODS)
def test_a_child_of_a_parent_that_records_nothing_keeps_its_last_rows(
    method: str, tmp_path: Path
) -> None:
    text = """
        if __name__ == "__main__":
            child = multiprocessing.get_context(sys.argv[1]).Process(target=work)
            child.start(), child.join()
        """

    assert recorded(tmp_path, text, method) == [(20, True)]


@pytest.mark.parametrize("method", METHODS)
def test_an_executors_processes_keep_their_last_rows(method: str, tmp_path: Path) -> None:
    text = """
        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[1])
            with ProcessPoolExecutor(1, mp_context=context) as executor:
                executor.submit(work).result()
        """

    assert recorded(tmp_path, text, method) == [(20, True)]


@pytest.mark.parametrize("method", METHODS)
def test_rows_of_a_pools_tasks_are_there_though_a_signal_ends_its_workers(
    method: str, tmp_path: Path
) -> None:
    text = """
        if __name__ == "__main__":
            with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
                pool.map(work, range(2))
        """

    assert [rows for rows, _ in recorded(tmp_path, text, method)] == [20, 20]


def test_a_pool_that_is_closed_and_joined_leaves_complete_streams(tmp_path: Path) -> None:
    text = """
        if __name__ == "__main__":
            pool = multiprocessing.get_context("fork").Pool(1)
            pool.map(work, range(2))
            pool.close(), pool.join()
        """

    assert recorded(tmp_path, text) == [(20, True), (20, True)]


def test_children_that_are_forked_within_a_block_keep_their_last_rows(tmp_path: Path) -> None:
    text = """
        from detloader import record_all
        if __name__ == "__main__":
            context = multiprocessing.get_context("fork")
            with record_all("run"), ProcessPoolExecutor(1, mp_context=context) as executor:
                executor.submit(work).result()
        """
    program = write_program(tmp_path, text, HEAD)
    subprocess.run([sys.executable, program], cwd=tmp_path, check=True, timeout=100)
    (stream,) = open_run(tmp_path / "run").streams.values()

    assert (stream.rows, stream.complete) == (20, True)
